/** /portal/requests: the API log. */
import type { Metadata } from "next";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { RequestFilterForm } from "#components/portal/requests/request-filters";
import { RequestTable } from "#components/portal/requests/request-table";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { EmptyState } from "#components/ui/empty-state";
import { TextLink } from "#components/ui/text-link";
import { cursorText, requestFilters } from "#lib/api/schemas/portal";
import { formatCount } from "#lib/protocol/text/display-text";
import { orNotFound, requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { describeRequestLog, listRequests } from "#lib/services/portal/overview";

export const metadata: Metadata = { title: "API log" };

const pageSize = 50;
const path = "/portal/requests";

async function RequestsPage({ searchParams }: SearchPageProps) {
  const { context, person } = await requirePortal(path);
  const query = await searchParams;
  const filters = requestFilters.parse(query);
  const cursor = cursorText.parse(query["cursor"]);
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const isFiltered = given.length > 0;
  const buildLink = (more: Record<string, string>) =>
    `${path}?${new URLSearchParams([...given, ...Object.entries(more)])}`;
  const { keys, days, missing } = await describeRequestLog(context, person);
  const page = { cursor, limit: pageSize };
  const { rows, nextCursor } = await orNotFound(listRequests(context, person, filters, page));
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="API log"
        lead={`Each API request made with one of your keys, kept for ${days} days. A request appears within a few seconds. The time it waits for a decision is not counted. Headers, queries and bodies are not recorded.`}
      />
      {missing === 0 ? null : (
        <div className="mb-5">
          <Callout tone="warn" title={`${formatCount(missing, "request")} not listed`}>
            There were more of them at a time, or on a day, than the log keeps. They are counted in your
            usage.
          </Callout>
        </div>
      )}
      <Card>
        <RequestFilterForm filters={filters} keys={keys} isFiltered={isFiltered} />
        <RequestTable
          rows={rows}
          empty={
            isFiltered ? (
              <p className="py-4 text-muted">No matching requests.</p>
            ) : (
              <EmptyState title={`No requests in the last ${days} days`}>
                Requests that your agents send with one of your <TextLink href="/portal/keys">keys</TextLink>{" "}
                appear here.
              </EmptyState>
            )
          }
        />
        <CursorPagination
          label="requests"
          {...(cursor === undefined ? {} : { firstHref: buildLink({}) })}
          {...(nextCursor === null ? {} : { nextHref: buildLink({ cursor: nextCursor }) })}
        />
      </Card>
    </PortalPage>
  );
}

export default withNotFound(RequestsPage, PortalNotFound);
