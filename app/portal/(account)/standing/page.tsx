/** /portal/standing: what agents may do without asking again, what is left of it, and taking it back. */
import type { Metadata } from "next";
import { StandingTable } from "#components/portal/approvals/standing-table";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { EmptyState } from "#components/ui/empty-state";
import { TextLink } from "#components/ui/text-link";
import { cursorText } from "#lib/api/schemas/portal";
import { orNotFound, requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { listStanding } from "#lib/services/approvals/portal-authorizations";
import { takeBack } from "./actions";

export const metadata: Metadata = { title: "Standing approvals" };

const path = "/portal/standing";
const pageSize = 20;

async function StandingPage({ searchParams }: SearchPageProps) {
  const { context, person, membership } = await requirePortal(path);
  const cursor = cursorText.parse((await searchParams)["cursor"]);
  const { rows, nextCursor } = await orNotFound(listStanding(context, person, { limit: pageSize, cursor }));
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Standing approvals"
        lead={
          <>
            What people approved once for many uses, and what is left of it. Nobody is asked about each use.{" "}
            <TextLink href="/docs/rules">How they work</TextLink>
          </>
        }
      />
      <Card>
        <StandingTable
          rows={rows}
          takeBack={mayAct(membership.role, "stop") ? takeBack : null}
          empty={
            <EmptyState title="No active standing approvals">
              An agent asks for one by sending <code className="font-mono">grant</code> with its request.
            </EmptyState>
          }
        />
        <CursorPagination
          label="standing approvals"
          {...(cursor === undefined ? {} : { firstHref: path })}
          {...(nextCursor === null ? {} : { nextHref: `${path}?cursor=${nextCursor}` })}
        />
      </Card>
    </PortalPage>
  );
}

export default withNotFound(StandingPage, PortalNotFound);
