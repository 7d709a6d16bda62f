"use client";
/**
 * The approval page's body. One object, `view`, is rendered, hashed by the browser and approved,
 * in this order: what → context → who asks → conditions → confirmation code → decision. Rendered on the server too,
 * so that all of it can be read, and denied, without JavaScript.
 */
import { useEffect, useRef, useState } from "react";
import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { AgentBlock } from "./agent-block";
import { ApprovalNotices } from "./approval-notices";
import { CoverageDetails } from "./coverage-details";
import { Decision } from "./decision";
import { FrozenNotice } from "./frozen-notice";
import { GrantBlock } from "./grant-block";
import { writeHeading } from "./heading";
import { Looking } from "./looking";
import { markRequest } from "./mark-parts";
import { describeEnd, Outcome } from "./outcome";
import { postJson } from "./post-json";
import { AllQuestions } from "./questions";
import { ActionBlock, ContextBlock, InputsHash } from "./request-blocks";
import { RequestConditions } from "./request-conditions";
import { TakeBack } from "./take-back";
import { useApprovalWatch } from "./use-approval-watch";

interface ApprovalScreenProps {
  readonly view: ApprovalView;
  readonly token: string;
}

/** Takes a keyboard or screen-reader user to the news when the buttons under them are gone. */
function useFocusOnChange({ status, revoked_at }: ApprovalView) {
  const heading = useRef<HTMLHeadingElement>(null);
  const state = `${status} ${revoked_at !== null}`;
  const before = useRef(state);
  useEffect(() => {
    if (before.current !== state) heading.current?.focus();
    before.current = state;
  }, [state]);
  return heading;
}

/** Allowed for anyone with the link; if passkeys were required, for the approvers who approved. */
const mayTakeBack = ({ groups, decided_by }: ApprovalView) =>
  groups.length === 0 || decided_by?.kind === "people";

export function ApprovalScreen({ view, token }: ApprovalScreenProps) {
  const { statusAtOpening, refresh } = useApprovalWatch(view);
  const isPending = view.status === "pending";
  const heading = useFocusOnChange(view);
  const isGiven = view.status === "approved" && view.revoked_at === null && describeEnd(view) === null;
  const isUsable = isGiven && view.attestation === null;
  const [isOwn, setIsOwn] = useState(false);
  return (
    <div className={`mx-auto max-w-2xl px-4 pt-5 sm:px-6 sm:pt-10 ${isPending ? "pb-40" : "pb-10"}`}>
      <h1 ref={heading} tabIndex={-1} className="outline-none font-semibold text-2xl sm:text-3xl">
        {writeHeading(view, isOwn)}
      </h1>
      <p className="mt-1 text-[15px] text-muted">
        Requested by <AgentText value={view.agent.slug} isName hideWarnings />
      </p>
      <div className="mt-4 flex flex-col gap-4" {...markRequest(view.request_id)}>
        <ApprovalNotices view={view} />
        {isPending ? null : <Outcome view={view} wasOpenedLate={statusAtOpening !== "pending"} />}
        {view.is_frozen && (isPending || isUsable) ? <FrozenNotice isPending={isPending} /> : null}
        {isUsable && mayTakeBack(view) ? <TakeBack view={view} token={token} onChange={refresh} /> : null}
        {view.is_erased ? (
          <Callout tone="info" title="The content of this request was erased">
            The organization erased the action and its details. The decision stays in the log.
          </Callout>
        ) : (
          <>
            <ActionBlock
              request={view.request}
              context={view.context}
              before={view.before}
              isDecided={!isPending}
            />
            {view.request.grant === null ? null : (
              <GrantBlock
                terms={view.request.grant}
                phase={isPending ? "asked" : isGiven ? "given" : "over"}
              />
            )}
            {view.request.grant?.derived ? null : (
              <ContextBlock
                request={view.request}
                context={view.context}
                before={view.before}
                isDecided={!isPending}
              />
            )}
            <AllQuestions
              before={view.before?.questions ?? []}
              questions={view.questions}
              isPending={isPending}
            />
          </>
        )}
        <AgentBlock view={view} />
        <RequestConditions view={view} onElapsed={refresh} />
        {view.is_erased ? null : <InputsHash inputsHash={view.request.inputs_hash} />}
        {isPending ? <Looking view={view} look={() => postJson(`/approve/${token}/look`, {})} /> : null}
        {isPending ? (
          <Decision view={view} token={token} onChange={refresh} onCounted={() => setIsOwn(true)} />
        ) : null}
        {view.is_erased ? null : <CoverageDetails view={view} />}
      </div>
    </div>
  );
}
