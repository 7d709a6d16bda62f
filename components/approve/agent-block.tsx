/** The agent that asks, what is known about its key, and the organization it belongs to. */

import { AgentText } from "#components/agent-text";
import { Card } from "#components/ui/card";
import { StatusPill } from "#components/ui/status-pill";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { AgentPast } from "./agent-past";
import { markPart } from "./mark-parts";
import { OrganizationBlock } from "./organization-block";

export const agentId = "agent";

type KeyStatus = ApprovalView["agent"]["key_status"];

const keyWords: Record<KeyStatus, { tone: "pass" | "warn"; label: string; means: string }> = {
  proven: {
    tone: "pass",
    label: "Key proven",
    means:
      "Whoever registered this agent's key has shown that they hold it. They did not sign this request with it, so only the organization's API key backs the request. A key never shows who is behind an agent.",
  },
  unproven: {
    tone: "warn",
    label: "Identity not verified",
    means: "A key is registered for this agent, but nobody has shown yet that they hold it.",
  },
  retired: {
    tone: "warn",
    label: "Identity not verified",
    means: "The agent's key has been replaced since this request was created.",
  },
  none: {
    tone: "warn",
    label: "Identity not verified",
    means: "This agent has no registered key. Only the organization's API key backs the request.",
  },
};

/** An erasure leaves nothing but the name, if anything. */
function Organization({ view }: { readonly view: ApprovalView }) {
  const { organization, requested_by: requestedBy, request } = view;
  const { name } = organization;
  if (requestedBy !== null)
    return <OrganizationBlock name={name} requestedBy={requestedBy} requestedAt={request.created_at} />;
  return (
    <p className="text-[15px]">
      <span className="text-muted">For the organization </span>
      <span className="font-medium">
        <AgentText value={organizationTitle(name)} isName />
      </span>
      <span className="text-muted"> (self-chosen name)</span>
    </p>
  );
}

interface AgentBlockProps {
  readonly view: ApprovalView;
  /** Set for several requests: each shows its own earlier state. */
  readonly isShared?: boolean;
}

export function AgentBlock({ view, isShared = false }: AgentBlockProps) {
  const { agent, organization, requested_by: requestedBy } = view;
  const { tone, label, means } = keyWords[agent.key_status];
  return (
    <Card title="Requested by" isQuiet {...markPart(agentId)}>
      <div className="flex flex-col gap-3">
        <div>
          <p className="font-semibold text-[17px]">
            <AgentText value={agent.name ?? agent.slug} isName />
          </p>
          {agent.name === null ? null : (
            <p className="mt-0.5 font-mono text-[15px] text-muted">
              <AgentText value={agent.slug} isName />
            </p>
          )}
        </div>
        <div>
          <StatusPill tone={tone}>{label}</StatusPill>
          <p className="mt-1.5 text-[15px] text-muted">{means}</p>
        </div>
        {requestedBy === null || isShared ? null : <AgentPast past={requestedBy.agent_past} />}
        {organization.name === null && requestedBy === null ? null : <Organization view={view} />}
      </div>
    </Card>
  );
}
