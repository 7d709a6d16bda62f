/** /portal/approvers: the people and groups whom requests can name, and who is notified if they name nobody. */
import type { Metadata } from "next";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { ApproverForm, DefaultGroupForm, GroupForm } from "#components/portal/organization/approver-forms";
import { ApproverTable } from "#components/portal/organization/approver-table";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { Card } from "#components/ui/card";
import { listApprovers } from "#lib/accounts/approvers";
import { requirePortal } from "#lib/pages/portal-request";
import { add, chooseDefault, deleteGroup, remove, save } from "./actions";

export const metadata: Metadata = { title: "Approvers" };

type Listed = Awaited<ReturnType<typeof listApprovers>>;

function Groups({ people, groups }: Listed) {
  return (
    <div className="flex flex-col gap-8">
      {groups.map((group) => (
        <div key={group.id} className="flex flex-col gap-3">
          <GroupForm action={save} people={people} group={group} />
          <div>
            <ActionDialog
              triggerLabel={
                <>
                  Delete<span className="sr-only"> {group.name}</span>
                </>
              }
              title="Delete group"
              description="Requests that name it are refused. Its people stay."
              action={deleteGroup}
              fields={{ group_id: group.id }}
              confirmLabel="Delete"
            />
          </div>
        </div>
      ))}
      <GroupForm action={save} people={people} />
      <DefaultGroupForm action={chooseDefault} groups={groups} />
    </div>
  );
}

export default async function ApproversPage() {
  const { context, person, membership } = await requirePortal("/portal/approvers");
  const listed = await listApprovers(context, person);
  const isOwner = membership.role === "owner";
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Approvers"
        lead="They get the link of a request by e-mail. That gives them no power: an approval needs World ID, and anyone with the link can decide."
      />
      <Card>
        <ApproverTable people={listed.people} remove={isOwner ? remove : null} />
        {isOwner ? (
          <div className="mt-6 border-line border-t pt-5">
            <ApproverForm action={add} />
          </div>
        ) : null}
      </Card>
      <Card title="Groups" className="mt-5">
        {isOwner ? (
          <Groups {...listed} />
        ) : (
          <ul className="list-disc pl-5">
            {listed.groups.map(({ id, name, members, isDefault }) => (
              <li key={id}>
                {name}: {members.map((one) => one.name).join(", ") || "nobody"}
                {isDefault ? " (default)" : ""}
              </li>
            ))}
          </ul>
        )}
      </Card>
    </PortalPage>
  );
}
