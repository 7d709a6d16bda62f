/** Scope of a human_authorization that this browser has verified. */
import { AgentText } from "#components/agent-text";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { Money } from "#components/ui/money";
import type { HumanAuthorization } from "#lib/protocol/approval/approval";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import { describeUnasked } from "#lib/protocol/approval/decided-words";
import { countOf } from "#lib/protocol/text/count";
import { readableTime } from "#lib/protocol/time/time-words";

/** `text`: the object, or an answer of GET /v1/authorize/{id} that holds it. */
function readAuthorization(text: string): HumanAuthorization {
  const given = JSON.parse(text) as HumanAuthorization & { human_authorization?: HumanAuthorization };
  return given.human_authorization ?? given;
}

function describeTerms({ max_calls, max_amount, max_budget, currency, expires_at }: GrantTerms): string {
  return [
    `at most ${countOf(max_calls, "use")}`,
    ...(max_amount === undefined ? [] : [`${max_amount} ${currency} each`]),
    ...(max_budget === undefined ? [] : [`${max_budget} ${currency} in all`]),
    `until ${readableTime(expires_at)}`,
  ].join(", ");
}

interface AuthorizationSummaryProps {
  readonly text: string;
  readonly grade: string;
}

export function AuthorizationSummary({ text, grade }: AuthorizationSummaryProps) {
  const { request, decided_by, approved_at, usable_until } = readAuthorization(text);
  const { action, agent_slug, amount, tool, grant } = request;
  const items: Definition[] = [
    { id: "action", name: "Action", value: <AgentText value={action} />, prominent: true },
    ...(amount === undefined
      ? []
      : [{ id: "amount", name: "Amount", value: <Money {...amount} />, prominent: true }]),
    ...(tool === undefined ? [] : [{ id: "tool", name: "Tool", value: <AgentText value={tool} isName /> }]),
    ...(grant === null ? [] : [{ id: "grant", name: "Standing approval", value: describeTerms(grant) }]),
    { id: "agent", name: "Agent", value: <AgentText value={agent_slug} isName /> },
    { id: "grade", name: "Approval", value: describeUnasked(decided_by, "approved") ?? `${grade}.` },
    { id: "time", name: "Approved", value: readableTime(approved_at) },
    ...(usable_until === null
      ? []
      : [{ id: "until", name: "Usable until", value: readableTime(usable_until) }]),
  ];
  return <DefinitionList items={items} />;
}
