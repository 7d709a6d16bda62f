/** /portal/inbox: what waits for a decision and what was decided, of every organization that concerns this person. */
import type { Metadata } from "next";
import { AgentText } from "#components/agent-text";
import { AmountOrder } from "#components/amount-column";
import { DeviceList } from "#components/passkeys/device-list";
import { PasskeyList } from "#components/passkeys/passkey-list";
import { InboxDecisions } from "#components/portal/approvals/inbox-decisions";
import { InboxTable } from "#components/portal/approvals/inbox-table";
import { DeputyForm } from "#components/portal/organization/deputy-form";
import { NoticeForm } from "#components/portal/organization/notice-form";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { LiveRefresh } from "#components/portal/shell/live-refresh";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { TextLink } from "#components/ui/text-link";
import type { UserPrincipal } from "#lib/api/http/context";
import { inboxFilters } from "#lib/api/schemas/portal";
import { orNotFound, requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { listPossibleDeputies, readDeputy } from "#lib/services/accounts/approver-groups";
import { listNoticeSettings } from "#lib/services/accounts/mails";
import { listOwnApprovers, listPasskeys, maxPasskeys } from "#lib/services/accounts/passkeys";
import type { Context } from "#lib/services/approvals/context";
import { listInbox, readDecidable } from "#lib/services/approvals/decision/inbox";
import { listDevices, readPushKey } from "#lib/services/notifications/push";
import { look, removeDeputy, saveDeputy, saveNotices } from "./actions";
import { begin, finish, remove, rename } from "./passkey-actions";

export const metadata: Metadata = { title: "Inbox" };

const pageSize = 20;
const path = "/portal/inbox";

interface PasskeysProps {
  readonly context: Context;
  readonly person: UserPrincipal;
  /** Titles by organization. */
  readonly names: ReadonlyMap<string, string>;
}

/** Lists each organization that the person approves for. */
async function Passkeys({ context, person, names }: PasskeysProps) {
  const own = await listOwnApprovers(context, person);
  if (own.length === 0) return null;
  return (
    <Card title="Your passkeys and devices" className="mt-5">
      <p className="mb-5 text-muted">
        A passkey signs your decisions with your device's fingerprint, face or PIN. Owners see when one is
        added.
      </p>
      <ul className="flex flex-col gap-8">
        {own.map(async ({ id, organizationId }) => (
          <li key={id}>
            {own.length === 1 ? null : (
              <h3 className="mb-2 font-medium">
                <AgentText value={names.get(organizationId) ?? ""} isName hideWarnings />
              </h3>
            )}
            <PasskeyList
              passkeys={await listPasskeys(context.database.db, id)}
              actions={{
                begin: begin.bind(null, id),
                finish: finish.bind(null, id),
                rename: rename.bind(null, id),
                remove: remove.bind(null, id),
              }}
              max={maxPasskeys}
            />
            <p className="mt-5 mb-2 font-medium">Notifications</p>
            <DeviceList
              path={`/portal/inbox/devices/${id}`}
              devices={await listDevices(context, id)}
              pushKey={readPushKey(context)}
            />
            <p className="mt-5 mb-2 font-medium">Deputy</p>
            <DeputyForm
              approverId={id}
              people={await listPossibleDeputies(context.database.db, { id, organizationId })}
              deputy={await readDeputy(context.database.db, id)}
              save={saveDeputy}
              end={removeDeputy}
            />
          </li>
        ))}
      </ul>
    </Card>
  );
}

async function InboxPage({ searchParams }: SearchPageProps) {
  const { context, person } = await requirePortal(path);
  const given = await searchParams;
  const { show, cursor } = inboxFilters.parse(given);
  const isSorted = given["sort"] === "amount";
  const isWaiting = show === "waiting";
  const { rows, nextCursor } = await orNotFound(
    listInbox(context, person, { isWaiting, limit: pageSize, cursor, isByAmount: isSorted }),
  );
  const decidable = isWaiting ? await readDecidable(context, person, rows) : [];
  const settings = await listNoticeSettings(context, person);
  const names = new Map(settings.map(({ organizationId, name }) => [organizationId, name]));
  const namedRows = rows.map((row) => ({
    ...row,
    organization_name: names.get(row.organization_id) ?? row.organization_name,
  }));
  const buildLink = (more: Record<string, string>) => `${path}?${new URLSearchParams({ show, ...more })}`;
  const sorting: Record<string, string> = isSorted ? { sort: "amount" } : {};
  const sort = { isSorted, href: buildLink(isSorted ? {} : { sort: "amount" }) };
  const isTestSaid = context.worldId.environment !== "production";
  return (
    <PortalPage organizationId={person.organizationId}>
      {isWaiting ? <LiveRefresh /> : null}
      <PageHeading
        title="Inbox"
        lead="Approval requests of your organizations, and those that name you as an approver."
      />
      <InboxDecisions groups={decidable} look={look} isTestSaid={isTestSaid} />
      <Card>
        <p className="mb-4 flex gap-4">
          {isWaiting ? <strong>Waiting</strong> : <TextLink href={path}>Waiting</TextLink>}
          {isWaiting ? <TextLink href={`${path}?show=decided`}>Decided</TextLink> : <strong>Decided</strong>}
        </p>
        <AmountOrder {...sort} />
        <InboxTable isTestSaid={isTestSaid} rows={namedRows} isWaiting={isWaiting} sort={sort} />
        <CursorPagination
          label="requests"
          isByAmount={isSorted}
          {...(cursor === undefined ? {} : { firstHref: buildLink(sorting) })}
          {...(nextCursor === null ? {} : { nextHref: buildLink({ cursor: nextCursor, ...sorting }) })}
        />
      </Card>
      <Passkeys context={context} person={person} names={names} />
      <Card title="Emails" className="mt-5">
        <p className="mb-5 text-muted">
          Each email has a link to decide. Owners choose the{" "}
          <TextLink href="/portal/approvers">approvers</TextLink> that requests can name.
        </p>
        <ul className="flex flex-col gap-6">
          {settings.map((one) => (
            <li key={one.organizationId}>
              <NoticeForm action={saveNotices} settings={one} />
            </li>
          ))}
        </ul>
      </Card>
    </PortalPage>
  );
}

export default withNotFound(InboxPage, PortalNotFound);
