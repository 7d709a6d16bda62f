/** Said to a person who wants to approve before every detail has been on the screen. */
import { AgentText } from "#components/agent-text";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import type { ApprovalView } from "#lib/contract/approval-view";
import { listDetails } from "./details";
import { grantId } from "./grant-block";
import { actionId } from "./request-blocks";
import { type Shown, scrollToEndOf } from "./use-seen";

export const listShown = ({ context, request }: Pick<ApprovalView, "context" | "request">): Shown[] => [
  { id: actionId, name: "What it wants to do" },
  ...(request.grant === null ? [] : [{ id: grantId, name: "The limits" }]),
  ...listDetails(context).map(({ id, name }) => ({ id, name: <AgentText value={name} isName /> })),
];

interface UnseenProps {
  readonly details: readonly Shown[];
  /** Where the way goes on. */
  readonly to: "World ID" | "your passkey";
  readonly onContinue: () => void;
}

export function Unseen({ details, to, onContinue }: UnseenProps) {
  const [first] = details;
  if (first === undefined)
    return (
      <Callout tone="info" title="You've seen everything now">
        <Button size="small" className="mt-2" onClick={onContinue}>
          Continue to {to}
        </Button>
      </Callout>
    );
  return (
    <Callout tone="warn" title="You haven't seen everything yet" alert>
      <p>These details haven't been on your screen:</p>
      <ul className="mt-1 list-disc pl-5">
        {details.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ul>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button size="small" onClick={() => scrollToEndOf(first.id)}>
          Show the first one
        </Button>
        <Button size="small" variant="secondary" onClick={onContinue}>
          Approve without reading them
        </Button>
      </div>
    </Callout>
  );
}
