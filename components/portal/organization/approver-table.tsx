/** The people whom requests can name. */

import { AddressText } from "#components/portal/address-text";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { StatusPill } from "#components/ui/status-pill";
import type { FormAction } from "#lib/api/schemas/form-state";
import type { ShownPasskey } from "#lib/api/schemas/rosters";

export interface Approver {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly status: "invited" | "confirmed" | "left" | "removed" | "deactivated";
  readonly passkeys: readonly ShownPasskey[];
}

const words = {
  invited: { tone: "pending", text: "Not accepted yet" },
  confirmed: { tone: "pass", text: "Accepted" },
  left: { tone: "neutral", text: "Unsubscribed" },
  removed: { tone: "neutral", text: "Removed" },
  deactivated: { tone: "neutral", text: "Removed" },
} as const;

interface PasskeysProps {
  readonly person: Approver;
  readonly removePasskey: FormAction | null;
}

function Passkeys({ person, removePasskey }: PasskeysProps) {
  return (
    <ul className="flex flex-col gap-2">
      {person.passkeys.map(({ id, name, createdAt, lastUsedAt }) => (
        <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className="min-w-0">
            <span className="[overflow-wrap:anywhere]">{name}</span>
            <span className="block text-muted text-sm">
              {lastUsedAt === null ? "added " : "last used "}
              <ListTime iso={lastUsedAt ?? createdAt} />
            </span>
          </span>
          {removePasskey === null ? null : (
            <ActionDialog
              triggerLabel="Remove passkey"
              triggerDetail={` ${name} of ${person.name}`}
              title="Remove passkey"
              description={`"${name}" can't approve for ${person.name} any more. What it approved before stays valid.`}
              action={removePasskey}
              fields={{ approver_id: person.id, passkey_id: id }}
              confirmLabel="Remove"
            />
          )}
        </li>
      ))}
    </ul>
  );
}

interface ApproverTableProps {
  readonly people: readonly Approver[];
  /** Owners only. */
  readonly askAgain: FormAction | null;
  readonly remove: FormAction | null;
  readonly removePasskey: FormAction | null;
}

export function ApproverTable({ people, askAgain, remove, removePasskey }: ApproverTableProps) {
  const columns: readonly Column<Approver>[] = [
    {
      id: "name",
      header: "Name",
      isRowHeader: true,
      cell: (row) => row.name,
      more: (row) =>
        row.passkeys.length === 0 ? null : <Passkeys person={row} removePasskey={removePasskey} />,
    },
    {
      id: "email",
      header: "Email address",
      isShort: true,
      width: "wide",
      cell: (row) => <AddressText value={row.email} />,
    },
    {
      id: "status",
      header: "State",
      width: "large",
      cell: ({ status }) => <StatusPill tone={words[status].tone}>{words[status].text}</StatusPill>,
    },
    {
      id: "passkeys",
      header: "Passkeys",
      width: "small",
      numeric: true,
      cell: ({ passkeys }) => passkeys.length,
    },
    {
      id: "actions",
      header: "Actions",
      width: people.some(({ status }) => status === "invited") ? "wide" : "medium",
      cell: ({ id, name, status }) => (
        <span className="flex flex-wrap gap-2 xl:flex-nowrap">
          {status !== "invited" || askAgain === null ? null : (
            <ActionDialog
              triggerLabel="Send again"
              triggerDetail={` to ${name}`}
              title="Send the email again"
              description={`${name} gets a new email with a link to accept.`}
              action={askAgain}
              fields={{ approver_id: id }}
              confirmLabel="Send again"
              confirmVariant="primary"
            />
          )}
          {remove === null ? (
            <span className="text-muted">none</span>
          ) : (
            <ActionDialog
              triggerLabel="Remove"
              triggerDetail={` ${name}`}
              title="Remove approver"
              description={`${name} gets no more emails from this organization, and their passkeys are removed. Requests that name them are refused.`}
              action={remove}
              fields={{ approver_id: id }}
              confirmLabel="Remove"
            />
          )}
        </span>
      ),
    },
  ];
  return (
    <DataTable
      caption="Approvers"
      isLine
      columns={columns}
      rows={people}
      rowKey={(row) => row.id}
      empty={<p className="py-4 text-muted">No approvers yet.</p>}
    />
  );
}
