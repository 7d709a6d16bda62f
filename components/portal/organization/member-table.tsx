/** The people of an organization, and those who were invited. */
import { AddressText } from "#components/portal/address-text";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import type { FormAction } from "#lib/api/schemas/form-state";
import { type Member, type MemberActions, RemoveDialog, RoleDialog, WithdrawDialog } from "./member-dialogs";

interface MemberTableProps {
  readonly members: readonly Member[];
  readonly selfId: string;
  readonly isOwner: boolean;
  readonly actions: MemberActions;
}

export function MemberTable({ members, selfId, isOwner, actions }: MemberTableProps) {
  const columns: readonly Column<Member>[] = [
    {
      id: "email",
      header: "Person",
      isRowHeader: true,
      cell: (row) => (
        <>
          <AddressText value={row.email} />
          {row.userId === selfId ? <span className="font-normal text-muted"> (you)</span> : null}
        </>
      ),
    },
    { id: "role", header: "Role", width: "small", cell: (row) => row.role },
    { id: "since", header: "Since", width: "medium", cell: (row) => <ListTime iso={row.since} /> },
    { id: "keys", header: "Active keys", width: "small", numeric: true, cell: (row) => row.liveKeys },
    {
      id: "actions",
      header: "Actions",
      width: "huge",
      cell: (row) => (
        <span className="flex flex-wrap gap-2 md:flex-nowrap">
          {isOwner ? (
            <RoleDialog action={actions.changeRole} member={row} isSelf={row.userId === selfId} />
          ) : null}
          {isOwner || row.userId === selfId ? (
            <RemoveDialog action={actions.remove} member={row} isSelf={row.userId === selfId} />
          ) : (
            <span className="text-muted">none</span>
          )}
        </span>
      ),
    },
  ];
  return (
    <DataTable
      caption="Members"
      isLine
      columns={columns}
      rows={members}
      rowKey={(row) => row.userId}
      empty={<p className="text-muted">Nobody.</p>}
    />
  );
}

interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: string;
  readonly invitedBy: string;
  readonly expiresAt: string;
}

interface InvitationTableProps {
  readonly invitations: readonly Invitation[];
  /** Owners only. */
  readonly withdraw: FormAction | null;
}

export function InvitationTable({ invitations, withdraw }: InvitationTableProps) {
  const columns: readonly Column<Invitation>[] = [
    {
      id: "email",
      header: "Invited",
      isRowHeader: true,
      cell: (row) => <AddressText value={row.email} />,
    },
    { id: "role", header: "As", width: "small", cell: (row) => row.role },
    {
      id: "by",
      header: "By",
      isCut: true,
      width: "huge",
      cell: (row) => <AddressText value={row.invitedBy} />,
    },
    { id: "until", header: "Expires", width: "medium", cell: (row) => <ListTime iso={row.expiresAt} /> },
    {
      id: "actions",
      header: "Actions",
      width: "large",
      cell: (row) =>
        withdraw === null ? (
          <span className="text-muted">none</span>
        ) : (
          <WithdrawDialog action={withdraw} invitationId={row.id} email={row.email} />
        ),
    },
  ];
  return (
    <DataTable
      caption="Open invitations"
      isLine
      columns={columns}
      rows={invitations}
      rowKey={(row) => row.id}
      empty={null}
    />
  );
}
