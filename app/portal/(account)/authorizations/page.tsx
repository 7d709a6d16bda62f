/** /portal/authorizations: what humans were asked, live; the link to decide, and cancelling. */
import type { Metadata } from "next";
import { AmountOrder } from "#components/amount-column";
import { authorizeCommand } from "#components/commands";
import { AuthorizationTable } from "#components/portal/approvals/authorization-table";
import { TakeBackDialog } from "#components/portal/approvals/take-back-dialog";
import { FilterBar } from "#components/portal/forms/filter-bar";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { LiveRefresh } from "#components/portal/shell/live-refresh";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Card } from "#components/ui/card";
import { CopyButton } from "#components/ui/copy-button";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { EmptyState } from "#components/ui/empty-state";
import { Field, Input, Select } from "#components/ui/field";
import { type AuthorizationStatus, authorizationStatuses } from "#lib/api/schemas/authorize";
import { authorizationFilters } from "#lib/api/schemas/portal";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { orNotFound, requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { listOwnAuthorizations } from "#lib/services/approvals/portal-authorizations";
import { cancelRequest } from "./actions";

export const metadata: Metadata = { title: "Approvals" };

const pageSize = 20;
const path = "/portal/authorizations";

interface FilterFormProps {
  readonly status: AuthorizationStatus | undefined;
  readonly text: string | undefined;
}

function FilterForm({ status, text }: FilterFormProps) {
  return (
    <FilterBar href={path} filters={{ status, text }} isFiltered={status !== undefined || text !== undefined}>
      <Field id="filter-q" label="Action, detail, amount or id">
        <Input id="filter-q" name="q" type="search" defaultValue={text ?? ""} placeholder="any part of it" />
      </Field>
      <Field id="filter-status" label="State">
        <Select id="filter-status" name="status" defaultValue={status ?? ""}>
          <option value="">any</option>
          {authorizationStatuses.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </Select>
      </Field>
    </FilterBar>
  );
}

async function AuthorizationsPage({ searchParams }: SearchPageProps) {
  const { context, person, app, membership } = await requirePortal(path);
  const given = await searchParams;
  const { q: text, status, cursor } = authorizationFilters.parse(given);
  const isSorted = given["sort"] === "amount";
  const sorting: Record<string, string> = isSorted ? { sort: "amount" } : {};
  const query = { limit: pageSize, status, text, cursor, agent_slug: undefined, isByAmount: isSorted };
  const { rows, nextCursor } = await orNotFound(listOwnAuthorizations(context, person, query));
  const isPending = rows.some((row) => row.status === "pending");
  const filter = { ...(status !== undefined && { status }), ...(text !== undefined && { q: text }) };
  const buildLink = (more: Record<string, string>) =>
    `${path}?${new URLSearchParams({ ...filter, ...more })}`;
  const sort = { isSorted, href: buildLink(isSorted ? {} : { sort: "amount" }) };
  return (
    <PortalPage organizationId={person.organizationId}>
      {isPending ? <LiveRefresh /> : null}
      <PageHeading
        title="Approvals"
        lead="Approval requests from your agents. Anyone with an approval link can decide, unless the request requires approvers of a group. Send it only to the person who should decide."
      />
      <Card>
        <FilterForm status={status} text={text} />
        <AmountOrder {...sort} />
        <AuthorizationTable
          isTestSaid={context.worldId.environment !== "production"}
          rows={rows}
          sort={sort}
          actions={(row) => (
            <span className="flex items-center gap-1">
              <CopyButton
                text={row.approval_url ?? ""}
                label={`approval link of ${toVisibleText(row.title)}`}
              />
              {mayAct(membership.role, "stop") ? (
                <TakeBackDialog
                  action={cancelRequest}
                  requestId={row.request_id}
                  state="pending"
                  name={row.title}
                />
              ) : null}
            </span>
          )}
          empty={
            text !== undefined ? (
              <p className="py-4 text-muted">No matching requests.</p>
            ) : isSorted ? (
              <p className="py-4 text-muted">No requests with an amount.</p>
            ) : status === undefined ? (
              <EmptyState
                title="No approval requests yet"
                command={{ label: "Request an approval", code: authorizeCommand(app.env.baseUrl) }}
              >
                With an API key in COUNTERSIGN_API_KEY, paste this into a shell. The response contains the
                approval link:
              </EmptyState>
            ) : (
              <p className="py-4 text-muted">No {status} requests.</p>
            )
          }
        />
        <CursorPagination
          label="requests"
          isByAmount={isSorted}
          {...(cursor === undefined ? {} : { firstHref: buildLink(sorting) })}
          {...(nextCursor === null ? {} : { nextHref: buildLink({ cursor: nextCursor, ...sorting }) })}
        />
        {isPending ? <p className="mt-4 text-muted text-sm">Updates automatically.</p> : null}
      </Card>
    </PortalPage>
  );
}

export default withNotFound(AuthorizationsPage, PortalNotFound);
