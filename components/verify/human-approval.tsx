/** An attestation's human approval by its grade. No grade may look like another. */
import { AgentText } from "#components/agent-text";
import { ApprovalPill } from "#components/approval-grades";
import { Callout } from "#components/ui/callout";
import { CodeBlock } from "#components/ui/code-block";
import { DefinitionList } from "#components/ui/definition-list";
import { TestMark } from "#components/ui/status-pill";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { approvalWords, describeTest, gradeMarks, isUnasked } from "#lib/protocol/approval/approval-words";
import {
  type ApprovalMethod,
  type BackedApproval,
  type BackedMethod,
  isBacked,
} from "#lib/protocol/statement/human-approval";
import { approvalItems } from "./approval-items";
import type { Verification } from "./facts";
import { byTrace, isTraced } from "./findings";

type HumanApprovalProps = Pick<Verification, "answer" | "isTest" | "approvalMethod">;

function TestCallout({ method }: { readonly method: ApprovalMethod | null }) {
  if (isUnasked(method))
    return (
      <Callout tone="test" title={describeTest(method)}>
        It was decided on a test instance. It shows that the integration works.
      </Callout>
    );
  const isByWallet = method === "proof_of_personhood" || method === "enrolled_proof_of_personhood";
  return (
    <Callout tone="test" title={describeTest(method)}>
      It was made {isByWallet ? "with a test wallet or on World's staging network" : "on a test instance"}. It
      shows that the integration works, and nothing about a person.
    </Callout>
  );
}

interface BackedProps {
  readonly answer: VerifyResponse;
  readonly approval: BackedApproval;
}

const limits: Record<BackedMethod, string> = {
  proof_of_personhood:
    "A nullifier is one enrolled human's identifier for this request only: the same human can't count twice, and it can't link two requests. It doesn't reveal who the human is, or whether they read the page.",
  enrolled_proof_of_personhood:
    "Each approver signed exactly this request with a device that the organization enrolled for them, unlocked by its user, and proved with World ID that they are different humans. Who they are is the organization's word.",
  enrolled_approver:
    "Each approver signed exactly this request with a device that the organization enrolled for them, unlocked by its user. Who they are, and that they are different humans, is the organization's word.",
  standing_approval:
    "People approved the limits before. This use was counted against them; nobody was asked about it.",
  rule: "A rule of the organization allowed it. Nobody was asked.",
};

function BackedPart({ answer, approval, isTest }: BackedProps & { readonly isTest: boolean }) {
  return (
    <>
      {isTest ? (
        <TestCallout method={approval.method} />
      ) : (
        <ApprovalPill method={approval.method} environment="production" />
      )}
      <p className="mt-3 max-w-[68ch]">
        {isTest && approval.method === "proof_of_personhood"
          ? "A nullifier is one test wallet's identifier for this request only: the same wallet can't count twice, and it can't link two requests."
          : limits[approval.method]}
      </p>
      <ProofFacts answer={answer} approval={approval} />
    </>
  );
}

function ProofFacts({ answer, approval }: BackedProps) {
  return (
    <>
      <details className="folded mt-3">
        <summary className="inline-flex min-h-8 cursor-pointer items-center text-accent text-sm underline decoration-1 underline-offset-[3px]">
          The evidence
        </summary>
        <div className="mt-2">
          <DefinitionList items={approvalItems(approval, answer.human_authorization)} />
        </div>
      </details>
      {answer.human_authorization === null ? null : (
        <details className="mt-3">
          <summary className="inline-flex min-h-8 items-center text-accent text-sm underline decoration-1 underline-offset-[3px]">
            The authorization as it was issued
          </summary>
          <div className="mt-2">
            <CodeBlock
              wrap
              isAgents
              label="human_authorization"
              code={JSON.stringify(answer.human_authorization, null, 2)}
            />
          </div>
        </details>
      )}
    </>
  );
}

const claims: Record<ApprovalMethod, string> = {
  none: "It says that no human approved.",
  hash: "It says that a human approved, asserted by the caller.",
  proof_of_personhood: "It says that a human approved by World ID.",
  enrolled_proof_of_personhood: "It says that enrolled approvers approved by passkey and World ID.",
  enrolled_approver: "It says that enrolled approvers approved by passkey.",
  standing_approval: "It says that a standing approval covered it.",
  rule: "It says that a rule allowed it.",
};

/** Shows the claims of a record that failed a check, and none as a fact. */
function ClaimedApproval({ answer, isTest }: Pick<Verification, "answer" | "isTest">) {
  const { human_approval: approval, human_approved: isApproved } = answer;
  const unknown = isApproved === true ? "It says that a human approved." : "What it says cannot be read.";
  return (
    <>
      {isTest ? (
        <div className="mb-3">
          <TestCallout method={approval?.method ?? null} />
        </div>
      ) : null}
      <Callout tone="warn" title="Claimed, not verified">
        {approval === null ? unknown : claims[approval.method]} Approval status can't be trusted: this record
        failed verification.
      </Callout>
      {approval !== null && isBacked(approval) ? <ProofFacts answer={answer} approval={approval} /> : null}
    </>
  );
}

function AssertedApproval({ approverHash }: { readonly approverHash: string | null }) {
  return (
    <>
      <Callout tone="warn" title={gradeMarks.hash}>
        The agent's operator says that a human approved. This record contains no proof.
      </Callout>
      {approverHash === null ? null : (
        <div className="mt-3">
          <DefinitionList
            items={[
              {
                id: "approver_hash",
                name: "Approver, as a hash",
                value: <AgentText value={approverHash} />,
              },
            ]}
          />
        </div>
      )}
    </>
  );
}

export function HumanApprovalPart({ answer, isTest, approvalMethod }: HumanApprovalProps) {
  const approval = answer.human_approval;
  if (answer.valid === false) return <ClaimedApproval answer={answer} isTest={isTest} />;
  if (approval !== null && isBacked(approval))
    return <BackedPart answer={answer} approval={approval} isTest={isTest} />;
  if (approval?.method === "hash") return <AssertedApproval approverHash={approval.approver_hash} />;
  if (approval?.method === "none")
    return (
      <p>
        None recorded. Nobody claims that a human was asked.{" "}
        {isTraced(answer) ? `${byTrace}.` : "The record is the agent's report."}
      </p>
    );
  if (answer.human_approved === null) return <p>If one was recorded, it was erased with the content.</p>;
  if (approvalMethod === "hash") return <AssertedApproval approverHash={null} />;
  return (
    <>
      {isTest ? <TestMark method={approvalMethod} /> : null}
      <p className={isTest ? "mt-3" : ""}>
        {approvalMethod !== null && approvalMethod !== "none"
          ? `The zero-knowledge proof below shows the grade: ${approvalWords[approvalMethod]}. Only the owner can show what was approved.`
          : answer.human_approved
            ? "An approval is recorded. Only the owner can show what was approved, and how strong the evidence is."
            : "None recorded."}
      </p>
    </>
  );
}
