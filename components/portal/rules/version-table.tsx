/** Versions of the rules: who changed them, when, and to what mode. */
import { AddressText } from "#components/portal/address-text";
import { DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { TextLink } from "#components/ui/text-link";
import type { RulesResponse } from "#lib/api/schemas/rules";

type Settings = Pick<RulesResponse["versions"][number], "mode" | "fallback" | "require_second_owner">;

const modeWords = { off: "off", log_only: "log only", enforce: "enforced" } as const;

/** Describes a version without its text. */
export function describeSettings({ mode, fallback, require_second_owner }: Settings): string {
  const otherwise = fallback === "ask" ? "ask people" : "deny";
  const change = require_second_owner ? "changes need a second owner" : "changes need no second owner";
  return `${modeWords[mode]}, otherwise ${otherwise}, ${change}`;
}

export function VersionTable({ versions }: { readonly versions: RulesResponse["versions"] }) {
  return (
    <DataTable
      caption="Versions of the rules"
      isLine
      rows={versions}
      rowKey={({ version }) => String(version)}
      empty={<p className="text-muted">No rules yet. People are asked about every request.</p>}
      columns={[
        {
          id: "version",
          header: "Version",
          isRowHeader: true,
          width: "small",
          cell: ({ version }) => (
            <TextLink href={`/portal/rules?version=${version}`}>
              {version}
              <span className="sr-only">: show changes</span>
            </TextLink>
          ),
        },
        { id: "mode", header: "Mode", width: "wide", cell: describeSettings },
        {
          id: "author",
          header: "Changed by",
          isShort: true,
          width: "wide",
          cell: ({ author }) => <AddressText value={author} />,
        },
        {
          id: "confirmed",
          header: "Confirmed by",
          isCut: true,
          width: "large",
          cell: ({ confirmed_by }) => (confirmed_by === null ? null : <AddressText value={confirmed_by} />),
        },
        {
          id: "when",
          header: "When",
          width: "medium",
          cell: ({ created_at }) => <ListTime iso={created_at} />,
        },
      ]}
    />
  );
}
