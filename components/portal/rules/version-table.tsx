/** Versions of the rules: who changed them, when, and to what mode. */
import { DataTable } from "#components/ui/data-table";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import type { RulesResponse } from "#lib/contract/rules";

export const modeWords = { off: "off", log_only: "log only", enforce: "enforced" } as const;

export function VersionTable({ versions }: { readonly versions: RulesResponse["versions"] }) {
  return (
    <DataTable
      caption="Versions of the rules"
      rows={versions}
      rowKey={({ version }) => String(version)}
      empty={<p className="text-muted">No rules yet. People are asked about every request.</p>}
      columns={[
        {
          id: "version",
          header: "Version",
          isRowHeader: true,
          cell: ({ version }) => (
            <TextLink href={`/portal/rules?version=${version}`}>
              {version}
              <span className="sr-only">: show changes</span>
            </TextLink>
          ),
        },
        { id: "mode", header: "Mode", cell: ({ mode }) => modeWords[mode] },
        { id: "author", header: "Changed by", cell: ({ author }) => author },
        { id: "confirmed", header: "Confirmed by", cell: ({ confirmed_by }) => confirmed_by ?? "–" },
        {
          id: "when",
          header: "When",
          cell: ({ created_at }) => <Timestamp iso={created_at} relative={false} />,
        },
      ]}
    />
  );
}
