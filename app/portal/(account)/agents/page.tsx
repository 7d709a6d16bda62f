/** /portal/agents: the organization's agents. */
import type { Metadata } from "next";
import { registerCommand } from "#components/commands";
import { AgentTable } from "#components/portal/agents/agent-table";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { ButtonLink } from "#components/ui/button-link";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { EmptyState } from "#components/ui/empty-state";
import { cursorId } from "#lib/api/schemas/portal";
import { requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { mayAct } from "#lib/services/accounts/members";
import { listOwnAgents } from "#lib/services/agents/identities";
import { readAgentUsage } from "#lib/services/portal/overview";

export const metadata: Metadata = { title: "Agents" };

const pageSize = 20;

export default async function AgentsPage({ searchParams }: SearchPageProps) {
  const { context, person, app, membership } = await requirePortal("/portal/agents");
  const cursor = cursorId.parse((await searchParams)["cursor"]);
  const { rows, nextCursor } = await listOwnAgents(context, person, { cursor, limit: pageSize });
  const usage = await readAgentUsage(context, person);
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Agents"
        lead="An agent's name (its slug) belongs to the organization that uses it first. Register the agent to add a key, a code hash and tools to check against."
        action={
          mayAct(membership.role, "operate") ? (
            <ButtonLink href="/portal/agents/new">Register an agent</ButtonLink>
          ) : null
        }
      />
      <Card>
        <AgentTable
          isTestSaid={context.worldId.environment !== "production"}
          rows={rows}
          usage={usage}
          empty={
            <EmptyState
              title="No agents yet"
              command={{ label: "Register your first agent", code: registerCommand(app.env.baseUrl) }}
            >
              Register one here, or from a shell with a key that has the identity permission:
            </EmptyState>
          }
        />
        <CursorPagination
          label="agents"
          {...(cursor === undefined ? {} : { firstHref: "/portal/agents" })}
          {...(nextCursor === null ? {} : { nextHref: `/portal/agents?cursor=${nextCursor}` })}
        />
      </Card>
    </PortalPage>
  );
}
