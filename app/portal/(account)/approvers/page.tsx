/** /portal/approvers: the people and groups whom requests can name, and who is notified if they name nobody. */
import type { Metadata } from "next";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import {
  ApproverForm,
  DefaultGroupForm,
  GroupForm,
  RequesterForm,
  TurnsForm,
} from "#components/portal/organization/approver-forms";
import { ApproverTable } from "#components/portal/organization/approver-table";
import { RosterChanges } from "#components/portal/organization/roster-changes";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { Card } from "#components/ui/card";
import { TextLink } from "#components/ui/text-link";
import { requirePortal } from "#lib/server/pages/portal-request";
import { listApprovers } from "#lib/services/accounts/approvers";
import { readRequesterRule } from "#lib/services/accounts/members";
import { listRosters } from "#lib/services/accounts/roster";
import {
  add,
  askAgain,
  chooseDefault,
  deleteGroup,
  remove,
  removePasskey,
  save,
  saveRequester,
  saveTurns,
} from "./actions";

export const metadata: Metadata = { title: "Approvers" };

const shownChanges = 20;

type Listed = Awaited<ReturnType<typeof listApprovers>>;

function Groups({ people, groups }: Listed) {
  return (
    <div className="flex flex-col gap-8">
      {groups.map((group) => (
        <div key={group.id} className="flex flex-col gap-3">
          <GroupForm action={save} people={people} group={group} />
          <TurnsForm action={saveTurns} people={people} group={group} />
          <div>
            <ActionDialog
              triggerLabel="Delete"
              triggerDetail={` ${group.name}`}
              title="Delete group"
              description="Requests that name or require it are refused. Its people stay."
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
  const { context, person, membership, app } = await requirePortal("/portal/approvers");
  const listed = await listApprovers(context, person);
  const isOwner = membership.role === "owner";
  const { db } = context.database;
  const { organizationId } = person;
  const rosters = await listRosters(db, organizationId, { number: undefined, limit: shownChanges });
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Approvers"
        lead={
          app.env.worldId === "none"
            ? "They get the link of a request by email. Each request names a group, and only passkeys of its people count."
            : "They get the link of a request by email. Anyone with the link can decide with World ID, unless the request requires approvers of a group: then only their passkeys count."
        }
      />
      <Card>
        <ApproverTable
          people={listed.people}
          askAgain={isOwner ? askAgain : null}
          remove={isOwner ? remove : null}
          removePasskey={isOwner ? removePasskey : null}
        />
        <p className="mt-4 text-muted">
          People create passkeys with the link in their emails, or in their{" "}
          <TextLink href="/portal/inbox">inbox</TextLink>.
        </p>
        {isOwner ? (
          <div className="mt-6 border-line border-t pt-5">
            <ApproverForm action={add} />
          </div>
        ) : null}
      </Card>
      <Card title="Groups" className="mt-5">
        <p className="mb-5 text-muted">
          <TextLink href="/portal/approvers/attention">Attention</TextLink> shows how fast a group decides. It
          is off until an owner turns it on.
        </p>
        {isOwner ? (
          <Groups {...listed} />
        ) : (
          <ul className="list-disc pl-5">
            {listed.groups.map(({ id, name, members, isDefault, enrolled }) => (
              <li key={id}>
                {name}: {members.map((one) => one.name).join(", ") || "nobody"}, {enrolled} with a passkey
                {isDefault ? " (default)" : ""}
              </li>
            ))}
          </ul>
        )}
      </Card>
      {isOwner ? (
        <Card title="Separation of duties" className="mt-5">
          <RequesterForm action={saveRequester} rule={await readRequesterRule(db, organizationId)} />
        </Card>
      ) : null}
      <Card title="Latest changes" className="mt-5">
        <RosterChanges rosters={rosters} />
      </Card>
    </PortalPage>
  );
}
