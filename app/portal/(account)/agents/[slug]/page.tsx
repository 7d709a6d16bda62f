/** /portal/agents/<slug>: the file of one agent; behind a tab, what is registered about it. */
import type { Metadata } from "next";
import { AgentText } from "#components/agent-text";
import { AgentKeyForm, AgentProfileForm, AgentToolsForm } from "#components/portal/agents/agent-forms";
import { AgentKeyHistory } from "#components/portal/agents/agent-key-history";
import { KeyStatusPill } from "#components/portal/agents/agent-table";
import { Spending, Timeline } from "#components/portal/agents/agent-timeline";
import { FreezeCard } from "#components/portal/agents/freeze-card";
import { AuthorizationTable } from "#components/portal/approvals/authorization-table";
import { StandingTable } from "#components/portal/approvals/standing-table";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { OwnSamples } from "#components/portal/overview/own-samples";
import { UsageWords } from "#components/portal/overview/usage-words";
import { writeOwnSamples } from "#components/portal/overview/write-own-samples";
import { LiveRefresh } from "#components/portal/shell/live-refresh";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { ButtonLink } from "#components/ui/button-link";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { HashText } from "#components/ui/code-block";
import { PageLink } from "#components/ui/page-link";
import { TextLink } from "#components/ui/text-link";
import { orNotFound, type Portal, requirePortal } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { readOwnAgent } from "#lib/services/agents/identities";
import { readAgentFile } from "#lib/services/approvals/portal-authorizations";
import { listOwnAttestations } from "#lib/services/attestations/own";
import { readAgentUsage } from "#lib/services/portal/overview";
import { freeze, removeKey, replaceKey, saveProfile, saveTools, takeBack, unfreeze } from "./actions";

interface PageProps {
  readonly params: Promise<{ slug: string }>;
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export async function generateMetadata({ params }: Pick<PageProps, "params">): Promise<Metadata> {
  return { title: `Agent ${decodeURIComponent((await params).slug)}` };
}

type Agent = Awaited<ReturnType<typeof readOwnAgent>>;

function KeyCard({ agent }: { readonly agent: Agent }) {
  const { slug, public_key: key } = agent;
  return (
    <Card title="Key" className="mt-5" action={<KeyStatusPill status={agent.key_status} />}>
      {key === null ? null : (
        <div className="mb-5 flex flex-wrap items-center justify-between gap-3">
          <div className="min-w-0">
            <p className="text-muted text-sm">Current key</p>
            <HashText value={key} label="public key" />
          </div>
          <ActionDialog
            triggerLabel="Remove key"
            title="Remove key"
            description="New attestations under this slug can't be authenticated by the agent's signature any more. Existing ones don't change."
            action={removeKey}
            fields={{ slug }}
            confirmLabel="Remove key"
          />
        </div>
      )}
      <AgentKeyForm action={replaceKey} slug={slug} />
    </Card>
  );
}

function ToolsCard({ agent }: { readonly agent: Agent }) {
  return (
    <Card title="Tool manifest" className="mt-5">
      {agent.tool_manifest_hash === null ? null : (
        <p className="mb-4 text-sm">
          <span className="text-muted">Manifest hash: </span>
          <HashText value={agent.tool_manifest_hash} label="tool manifest hash" />
        </p>
      )}
      <AgentToolsForm action={saveTools} slug={agent.slug} tools={agent.tools ?? []} />
    </Card>
  );
}

function SettingsTab({ agent }: { readonly agent: Agent }) {
  return (
    <>
      <Card title="Profile">
        <AgentProfileForm
          action={saveProfile}
          slug={agent.slug}
          values={{
            name: agent.name ?? "",
            description: agent.description ?? "",
            code_hash: agent.code_hash ?? "",
            model_id: agent.model_id ?? "",
          }}
        />
      </Card>
      <KeyCard agent={agent} />
      <Card title="Key history" className="mt-5">
        <AgentKeyHistory rows={agent.key_history} />
        {agent.key_history_cursor === null ? null : (
          <p className="mt-3 text-[15px]">
            <TextLink href={`/agent/${agent.slug}/keys`}>All keys</TextLink>
          </p>
        )}
      </Card>
      <ToolsCard agent={agent} />
    </>
  );
}

async function ActivityTab({ agent, portal }: { readonly agent: Agent; readonly portal: Portal }) {
  const { app, context, person, membership } = portal;
  const { slug } = agent;
  const file = await readAgentFile(context, person, slug);
  const { rows: attestations } = await listOwnAttestations(context, person, { agent: slug }, { limit: 10 });
  const usage = await readAgentUsage(context, person);
  const isTestSaid = context.worldId.environment !== "production";
  return (
    <>
      {file.open.length === 0 ? null : <LiveRefresh />}
      {mayAct(membership.role, "freeze") ? (
        <FreezeCard
          slug={slug}
          frozenAt={agent.frozen_at}
          stops={agent.stops}
          freeze={freeze}
          unfreeze={unfreeze}
        />
      ) : null}
      <Card title="Open requests" className="mb-5">
        <AuthorizationTable
          rows={file.open}
          actions={null}
          isTestSaid={isTestSaid}
          empty={<p className="text-muted">Nothing waits for a decision.</p>}
        />
        {file.hasMoreOpen ? (
          <p className="mt-4 text-[15px]">
            The newest {file.open.length}.{" "}
            <TextLink href="/portal/authorizations?status=pending">All open requests</TextLink>
          </p>
        ) : null}
      </Card>
      <div className="mb-5 grid gap-5">
        <Card title="Standing approvals">
          <StandingTable
            rows={file.standing}
            takeBack={mayAct(membership.role, "stop") ? takeBack : null}
            hidesAgent
            empty={<p className="text-muted">None. People are asked each time, unless a rule decides.</p>}
          />
          {file.hasMoreStanding ? (
            <p className="mt-4 text-[15px]">
              The newest {file.standing.length}.{" "}
              <TextLink href="/portal/standing">All standing approvals</TextLink>
            </p>
          ) : null}
        </Card>
        <Card title="Approved spending">
          <Spending sums={file.spending} />
        </Card>
      </div>
      <Card title="Timeline" className="mb-5">
        <Timeline attestations={attestations} decided={file.decided} stops={agent.stops} />
        <p className="mt-4 text-[15px]">
          <TextLink href={`/portal/attestations?agent=${slug}`}>All attestations</TextLink>
        </p>
      </Card>
      <Card title="Attestations" className="mb-5">
        <UsageWords usage={usage.get(slug.toLowerCase())} />
      </Card>
      <Card title="Use it">
        <OwnSamples samples={writeOwnSamples(app.env.baseUrl, slug, agent.tools ?? [])} />
      </Card>
    </>
  );
}

const tabs = [
  { id: "activity", label: "Activity", query: "", act: "read" },
  { id: "settings", label: "Settings", query: "?tab=settings", act: "operate" },
] as const;

async function AgentPage({ params, searchParams }: PageProps) {
  const slug = decodeURIComponent((await params).slug);
  const query = await searchParams;
  const asksSettings = query["tab"] === "settings";
  const path = `/portal/agents/${slug}`;
  const portal = await requirePortal(asksSettings ? `${path}?tab=settings` : path);
  const { context, person, membership } = portal;
  const isSettings = asksSettings && mayAct(membership.role, "operate");
  const agent = await orNotFound(readOwnAgent(context, person, slug));
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title={agent.slug}
        action={
          <span className="flex flex-wrap items-center gap-3">
            {agent.isTest && context.worldId.environment === "production" ? <TestKeyMark /> : null}
            <ButtonLink href={`/portal/evidence?agent=${agent.slug}`} variant="secondary">
              Evidence pack
            </ButtonLink>
          </span>
        }
        lead={
          <>
            {agent.name === null ? null : (
              <>
                <AgentText value={agent.name} isName />.{" "}
              </>
            )}
            Public page: <TextLink href={`/agent/${agent.slug}`}>View agent</TextLink>.
          </>
        }
      />
      {query["registered"] === undefined ? null : (
        <div className="mb-5">
          <Callout tone="pass" title="Agent registered." />
        </div>
      )}
      <nav aria-label="Agent" className="mb-5 flex gap-1 border-line border-b">
        {tabs
          .filter(({ act }) => mayAct(membership.role, act))
          .map(({ id, label, query }) => (
            <PageLink
              key={id}
              href={`${path}${query}`}
              {...((id === "settings") === isSettings ? { "aria-current": "page" as const } : {})}
              className="-mb-px inline-flex min-h-11 items-center border-transparent border-b-2 px-3 text-muted hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              {label}
            </PageLink>
          ))}
      </nav>
      {isSettings ? <SettingsTab agent={agent} /> : <ActivityTab agent={agent} portal={portal} />}
    </PortalPage>
  );
}

export default withNotFound(AgentPage, PortalNotFound);
