/** What the attestation says, in five seconds: action, agent, time, grade of the human approval. */
import { AgentText } from "#components/agent-text";
import { ApprovalPill, ClaimedPill, OtherKeyPill } from "#components/approval-grades";
import { StatusPill, TestMark } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import type { VerifyResponse } from "#lib/contract/verify";
import { toVisibleText } from "#lib/core/text/display-text";
import { describeBounds } from "#lib/core/time/time-words";
import type { Verification } from "./facts";

type SubjectSummaryProps = Pick<Verification, "answer" | "isTest" | "approvalMethod">;

function ApprovalGrade({ answer, isTest, approvalMethod }: SubjectSummaryProps) {
  const approval = answer.human_approval;
  if (answer.valid === false) {
    if (approval === null && answer.human_approved === null && !isTest) return null;
    const method = approval?.method ?? (answer.human_approved === false ? "none" : null);
    return <ClaimedPill method={method} isTest={isTest} />;
  }
  if (isTest) return <TestMark />;
  if (answer.warnings.some(({ code }) => code === "approval_key_changed")) return <OtherKeyPill />;
  if (approval !== null) {
    const environment = approval.method === "proof_of_personhood" ? approval.environment : undefined;
    return <ApprovalPill method={approval.method} {...(environment === undefined ? {} : { environment })} />;
  }
  if (approvalMethod === "proof_of_personhood")
    return <ApprovalPill method={approvalMethod} environment="production" />;
  if (approvalMethod === "hash") return <ApprovalPill method={approvalMethod} />;
  if (answer.human_approved === true)
    return <StatusPill tone="private">Approval recorded, grade not public</StatusPill>;
  if (answer.human_approved === false) return <ApprovalPill method="none" />;
  return null;
}

function ActionText({ answer }: { readonly answer: VerifyResponse }) {
  if (answer.action !== null) return <AgentText value={answer.action} />;
  if (answer.status === "erased") return <span className="text-muted">The content was erased.</span>;
  return (
    <span className="text-muted">
      {answer.is_public ? "The record can't be read." : "The content is private."}
    </span>
  );
}

export function SubjectSummary(props: SubjectSummaryProps) {
  const { answer } = props;
  return (
    <div className="mt-5">
      <p className="text-muted text-sm">The agent's report</p>
      <p className="mt-0.5 font-medium text-xl leading-snug sm:text-2xl">
        <ActionText answer={answer} />
      </p>
      <p className="mt-2 text-[15px] text-muted">
        by{" "}
        <TextLink href={`/agent/${answer.agent_slug}`}>
          <AgentText value={answer.agent_slug} isName />
        </TextLink>
        {answer.timestamp === null ? null : (
          <>
            , recorded <Timestamp iso={answer.timestamp} />
          </>
        )}
      </p>
      {answer.valid === false ? null : (
        <p className="mt-1 text-muted text-sm [overflow-wrap:anywhere]" data-time-bounds>
          {toVisibleText(describeBounds(answer.time_bounds.made_after, answer.time_bounds.made_before))}
        </p>
      )}
      <div className="mt-3">
        <ApprovalGrade {...props} />
      </div>
    </div>
  );
}
