/** A suggested rule: what it would let through, in words and in Cedar, and every request that it rests on. */
import { AgentText } from "#components/agent-text";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { Card } from "#components/ui/card";
import { CodeBlock } from "#components/ui/code-block";
import { ListTime } from "#components/ui/local-time";
import { TextLink } from "#components/ui/text-link";
import type { FormAction } from "#lib/api/schemas/form-state";
import type { ShownSuggestion, TakeBackHint } from "#lib/api/schemas/portal";
import { formatAmount } from "#lib/protocol/approval/amount";
import { describeTerms } from "#lib/protocol/record/facts";
import { formatCount } from "#lib/protocol/text/display-text";

interface SuggestionProps {
  readonly suggestion: ShownSuggestion;
  readonly withMoney: boolean;
  /** Null for who may not. */
  readonly actions: Record<"propose" | "ask", FormAction<null>> | null;
}

/** Longer lists have no reader; the rest is on the pages of requests. */
const maxListed = 200;

function Requests({ requests }: Pick<ShownSuggestion, "requests">) {
  return (
    <details className="mt-4">
      <summary className="cursor-pointer font-medium">
        {formatCount(requests.length, "approved request")} it would have let through
      </summary>
      <ul className="mt-2 columns-1 gap-6 text-sm sm:columns-2">
        {requests.slice(0, maxListed).map(({ id, created_at }) => (
          <li key={id}>
            <TextLink href={`/portal/authorizations/${id}`}>
              <ListTime iso={created_at} />
            </TextLink>
          </li>
        ))}
      </ul>
      {requests.length > maxListed ? (
        <p className="mt-2 text-muted text-sm">
          and {formatCount(requests.length - maxListed, "earlier one")}
        </p>
      ) : null}
    </details>
  );
}

export function SuggestionCard({ suggestion, withMoney, actions }: SuggestionProps) {
  const { policyId, text, bounds, requests, questionsPerWeek, waitedMinutes, standing } = suggestion;
  const { agent, tool, equal, open, amount } = bounds;
  return (
    <Card
      title={
        <>
          <AgentText value={tool ?? equal.action ?? "any action"} isName /> by{" "}
          <AgentText value={agent} isName />
          {amount === null
            ? null
            : ` up to ${formatAmount({ value: amount.max, currency: amount.currency })}`}
        </>
      }
      className="mb-5"
    >
      <p>
        {formatCount(Math.round(questionsPerWeek * 10) / 10, "question")} a week less; agents waited{" "}
        {formatCount(Math.round(waitedMinutes), "minute")} for these answers. It would have met no refusal.
      </p>
      {open.length > 0 || equal.action === null ? (
        <p className="mt-2">
          Any value:{" "}
          <AgentText
            value={[...(equal.action === null ? ["action"] : []), ...open].join(", ")}
            hideWarnings
          />
          , because it was another one each time.
        </p>
      ) : null}
      <div className="mt-4">
        <CodeBlock label={`suggested rule ${policyId}`} code={text} />
      </div>
      <Requests requests={requests} />
      {standing === null ? null : (
        <p className="mt-4">
          Or a standing approval, which ends and has a limit: {describeTerms(standing)}. That is what was
          approved in the last 30 days.
        </p>
      )}
      {actions === null ? null : (
        <div className="mt-4 flex flex-wrap gap-3">
          <ActionDialog
            triggerLabel="Propose this rule"
            triggerVariant="primary"
            title="Propose this rule"
            description="It is added to your rules as it is written here. If your organization has another owner, that one confirms it with a passkey; else it counts at once. The log gets the hash of what it rests on."
            action={actions.propose}
            fields={{ policy_id: policyId, money: withMoney ? "on" : "off" }}
            confirmLabel="Propose"
            confirmVariant="primary"
          />
          {standing === null ? null : (
            <ActionDialog
              triggerLabel="Ask for a standing approval"
              title="Ask for a standing approval"
              description="Those who decided the newest of these requests are asked to allow this for 30 days, within these limits. What it rests on is bound by hash to what they sign."
              action={actions.ask}
              fields={{ policy_id: policyId, money: withMoney ? "on" : "off" }}
              confirmLabel="Ask"
              confirmVariant="primary"
            />
          )}
        </div>
      )}
    </Card>
  );
}

export function TakeBackList({ hints }: { readonly hints: readonly TakeBackHint[] }) {
  return (
    <ul className="flex flex-col gap-2">
      {hints.map(({ request_id: id, policy_id: policy, agent_slug: agent, action, why, detail }) => (
        <li key={`${id ?? policy} ${why}`}>
          {id === null ? (
            <TextLink href="/portal/rules">
              Rule <code className="font-mono">{policy}</code>
            </TextLink>
          ) : (
            <TextLink href={`/portal/authorizations/${id}`}>
              <AgentText value={action ?? ""} isName /> by <AgentText value={agent ?? ""} isName />
            </TextLink>
          )}
          : <AgentText value={detail} />
        </li>
      ))}
    </ul>
  );
}
