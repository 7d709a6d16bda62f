/** /portal/agents/<slug>: what is registered about one agent, and its key history. */
import type { Metadata } from "next";
import { AgentKeyForm, AgentProfileForm, AgentToolsForm } from "#components/portal/agents/agent-forms";
import { AgentKeyHistory } from "#components/portal/agents/agent-key-history";
import { KeyStatusPill } from "#components/portal/agents/agent-table";
import { FreezeCard } from "#components/portal/agents/freeze-card";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { OwnSamples } from "#components/portal/overview/own-samples";
import { UsageWords } from "#components/portal/overview/usage-words";
import { writeOwnSamples } from "#components/portal/overview/write-own-samples";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { ButtonLink } from "#components/ui/button-link";
import { Card } from "#components/ui/card";
import { HashText } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import { orNotFound, requirePortal } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { readOwnAgent } from "#lib/services/agents/portal-agents";
import { readAgentUsage } from "#lib/services/portal/overview";
import { freeze, removeKey, replaceKey, saveProfile, saveTools, unfreeze } from "./actions";

interface PageProps {
  readonly params: Promise<{ slug: string }>;
}

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
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

async function AgentPage({ params }: PageProps) {
  const slug = decodeURIComponent((await params).slug);
  const { app, context, person } = await requirePortal(`/portal/agents/${slug}`);
  const agent = await orNotFound(readOwnAgent(context, person, slug));
  const usage = await readAgentUsage(context, person);
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title={agent.slug}
        action={
          <span className="flex flex-wrap items-center gap-3">
            {agent.isTest && <TestKeyMark />}
            <ButtonLink href={`/portal/evidence?agent=${agent.slug}`} variant="secondary">
              Evidence pack
            </ButtonLink>
          </span>
        }
        lead={
          <>
            Public page: <TextLink href={`/agent/${agent.slug}`}>View agent</TextLink>.
          </>
        }
      />
      <FreezeCard
        slug={agent.slug}
        frozenAt={agent.frozen_at}
        stops={agent.stops}
        freeze={freeze}
        unfreeze={unfreeze}
      />
      <Card title="Attestations through the API" className="mb-5">
        <UsageWords usage={usage.get(agent.slug.toLowerCase())} />
      </Card>
      <Card title="Use it" className="mb-5">
        <OwnSamples samples={writeOwnSamples(app.env.baseUrl, agent.slug)} />
      </Card>
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
    </PortalPage>
  );
}

export default withNotFound(AgentPage, PortalNotFound);
