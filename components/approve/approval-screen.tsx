"use client";
/**
 * The approval page's body. One object, `view`, is rendered, hashed by the browser and approved,
 * in this order: who asks → what → context → conditions → confirmation code → decision. Rendered on the server too,
 * so that all of it can be read, and denied, without JavaScript.
 */
import { useEffect, useRef } from "react";
import { Callout } from "#components/ui/callout";
import type { ApprovalView } from "#lib/contract/approval-view";
import { AgentBlock } from "./agent-block";
import { ApprovalNotices } from "./approval-notices";
import { CoverageDetails } from "./coverage-details";
import { Decision } from "./decision";
import { Outcome } from "./outcome";
import { ActionBlock, ContextBlock } from "./request-blocks";
import { RequestConditions } from "./request-conditions";
import { useApprovalWatch } from "./use-approval-watch";

interface ApprovalScreenProps {
  readonly view: ApprovalView;
  readonly token: string;
}

const headings = {
  pending: "An agent is requesting your approval",
  approved: "This request was approved",
  denied: "This request was denied",
  expired: "This request has expired",
  cancelled: "This request was cancelled",
} as const;

/** Takes a keyboard or screen-reader user to the news when the buttons under them are gone. */
function useFocusOnChange(status: ApprovalView["status"]) {
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(status);
  useEffect(() => {
    if (before.current !== status) heading.current?.focus();
    before.current = status;
  }, [status]);
  return heading;
}

export function ApprovalScreen({ view, token }: ApprovalScreenProps) {
  const { statusAtOpening, refresh } = useApprovalWatch(view);
  const isPending = view.status === "pending";
  const heading = useFocusOnChange(view.status);
  return (
    <div className={`mx-auto max-w-2xl px-4 pt-6 sm:px-6 sm:pt-10 sm:pb-10 ${isPending ? "pb-40" : "pb-10"}`}>
      <h1 ref={heading} tabIndex={-1} className="outline-none font-semibold text-2xl sm:text-3xl">
        {headings[view.status]}
      </h1>
      <div className="mt-4 flex flex-col gap-4">
        <ApprovalNotices view={view} />
        {isPending ? null : <Outcome view={view} wasOpenedLate={statusAtOpening !== "pending"} />}
        <AgentBlock view={view} />
        {view.is_erased ? (
          <Callout tone="info" title="The content of this request was erased">
            The organization erased the action and its details. The decision stays in the log.
          </Callout>
        ) : (
          <>
            <ActionBlock action={view.request.action} />
            <ContextBlock context={view.context} inputsHash={view.request.inputs_hash} />
          </>
        )}
        <RequestConditions view={view} onElapsed={refresh} />
        {isPending ? <Decision view={view} token={token} onChange={refresh} /> : null}
        {view.is_erased ? null : <CoverageDetails view={view} />}
      </div>
    </div>
  );
}
