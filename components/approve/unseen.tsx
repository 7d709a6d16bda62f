"use client";
/** Warns a person who wants to approve before every part of the request has been on the screen. */
import { useRef } from "react";
import { AgentText } from "#components/agent-text";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { useKeptFocus } from "#components/ui/use-kept-focus";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { agentId } from "./agent-block";
import { type Detail, splitDetails } from "./details";
import { grantId } from "./grant-block";
import { actionId, inputsId } from "./request-blocks";
import { conditionsId } from "./request-conditions";
import type { Shown } from "./use-seen";

const toShown = ({ id, label }: Detail): Shown => ({ id, name: <AgentText value={label} isName /> });

export function listShown({ context, request }: Pick<ApprovalView, "context" | "request">): Shown[] {
  const { action, tool } = request;
  const { run, lead, rest } = splitDetails({ action, tool, context });
  return [
    { id: actionId, name: "What it wants to do" },
    ...run.filter(({ excerpt }) => excerpt === undefined).map(toShown),
    ...lead.map(toShown),
    ...(request.grant === null ? [] : [{ id: grantId, name: "The limits" }]),
    ...rest.map(toShown),
    { id: agentId, name: "Requested by" },
    { id: conditionsId, name: "Conditions" },
    ...(request.inputs_hash === undefined ? [] : [{ id: inputsId, name: "The hash of the inputs" }]),
  ];
}

interface UnseenProps {
  readonly details: readonly Shown[];
  /** The next step's name. */
  readonly to: "World ID" | "your passkey";
  readonly onShow: (id: string) => void;
  readonly onContinue: () => void;
  /** Blocks the next step until everything was seen. */
  readonly isStrict?: boolean;
}

function Parts({ details, to, onShow, onContinue, isStrict = false }: UnseenProps) {
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
      <p>These parts haven't been on your screen from beginning to end:</p>
      <ul className="mt-1 list-disc pl-5">
        {details.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ul>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button size="small" onClick={() => onShow(first.id)}>
          Show the first one
        </Button>
        {isStrict ? null : (
          <Button size="small" variant="secondary" onClick={onContinue}>
            Approve without reading them
          </Button>
        )}
      </div>
    </Callout>
  );
}

export function Unseen(props: UnseenProps) {
  const frame = useRef<HTMLDivElement>(null);
  useKeptFocus(frame, props.details.length === 0);
  return (
    <div ref={frame} tabIndex={-1} className="outline-none">
      <Parts {...props} />
    </div>
  );
}
