/** /portal/agents/<slug>: what is registered about one agent, and its key history. */
import type { Metadata } from "next";
import { ActionDialog } from "#components/portal/action-dialog";
import { AgentKeyForm, AgentProfileForm, AgentToolsForm } from "#components/portal/agent-forms";
import { AgentKeyHistory } from "#components/portal/agent-key-history";
import { KeyStatusPill } from "#components/portal/agent-table";
import { PageHeading } from "#components/portal/page-heading";
import { PortalPage } from "#components/portal/shown-organization";
import { Card } from "#components/ui/card";
import { HashText } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import { orNotFound, requirePortal } from "#lib/http/portal-request";
import { readOwnAgent } from "#lib/services/portal-agents";
import { removeKey, replaceKey, saveProfile, saveTools } from "./actions";

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
            <p className="text-muted text-sm">In use now</p>
            <HashText value={key} label="public key" />
          </div>
          <ActionDialog
            triggerLabel="Remove the key"
            title="Remove the key"
            description="Later attestations under this slug can no longer be authenticated by a signature of the agent. Earlier ones are judged by the key that was registered then."
            action={removeKey}
            fields={{ slug }}
            confirmLabel="Remove the key"
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
          <span className="text-muted">Hash of the manifest: </span>
          <HashText value={agent.tool_manifest_hash} label="tool manifest hash" />
        </p>
      )}
      <AgentToolsForm action={saveTools} slug={agent.slug} tools={agent.tools ?? []} />
    </Card>
  );
}

export default async function AgentPage({ params }: PageProps) {
  const slug = decodeURIComponent((await params).slug);
  const { context, person } = await requirePortal(`/portal/agents/${slug}`);
  const agent = await orNotFound(readOwnAgent(context, person, slug));
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title={agent.slug}
        lead={
          <>
            What the public sees: <TextLink href={`/agent/${agent.slug}`}>the agent's page</TextLink>.
          </>
        }
      />
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
