/** An attestation's human approval by its grade. No grade may look like another. */
import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import { CodeBlock, HashText } from "#components/ui/code-block";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { StatusPill, TestMark } from "#components/ui/status-pill";
import type { VerifyResponse } from "#lib/contract/verify";
import { isJsonObject, type JsonObject } from "#lib/core/encoding/canonical-json";
import type { HumanApproval } from "#lib/core/statement/statement";
import type { Verification } from "./facts";
import { describeLevel } from "./verdict";

type Proven = Extract<HumanApproval, { method: "proof_of_personhood" }>;

type HumanApprovalProps = Pick<Verification, "answer" | "isTest" | "approvalMethod">;

/** The names in `verified_by`, as people would say them. */
const witnesses: Record<string, string> = {
  "groth16-local": "this service, from the proof itself",
  "world-portal-v4": "World's verification service",
  "world-chain": "World Chain (the root is registered there)",
};

function textOf(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}

function approvalItems(approval: JsonObject, index: number): Definition[] {
  const verifiedBy = Array.isArray(approval["verified_by"]) ? approval["verified_by"] : [];
  const standIn = approval["environment"] === "local" ? " (here its local stand-in)" : "";
  const names = verifiedBy.map((name) =>
    name === "groth16-local" ? witnesses[name] : `${witnesses[String(name)] ?? String(name)}${standIn}`,
  );
  const who = approval["environment"] === "production" ? "Human" : "Test wallet";
  return [
    {
      id: `nullifier-${index}`,
      name: `${who} ${index + 1}, nullifier`,
      value: <HashText value={textOf(approval, "nullifier_hash")} label={`nullifier ${index + 1}`} />,
    },
    {
      id: `proof-${index}`,
      name: "Proof",
      value: (
        <AgentText
          value={`World ID ${textOf(approval, "protocol_version")}, level ${textOf(approval, "level")}, checked at ${textOf(approval, "verified_at")} by ${names.join(" and ")}`}
        />
      ),
    },
  ];
}

function provenItems(approval: Proven, authorization: JsonObject | null): Definition[] {
  const given = authorization?.["approvals"];
  const approvals = Array.isArray(given) ? given.filter(isJsonObject) : [];
  const approvedAt = authorization === null ? "" : textOf(authorization, "approved_at");
  return [
    { id: "level", name: "Level", value: <AgentText value={describeLevel(approval.level)} /> },
    { id: "environment", name: "Environment", value: <AgentText value={approval.environment} /> },
    ...(approvedAt === "" ? [] : [{ id: "at", name: "Approved", value: <AgentText value={approvedAt} /> }]),
    {
      id: "inputs",
      name: "Inputs",
      value: approval.inputs_bound
        ? "The approval named this inputs hash. It covers these inputs and no others."
        : "The approval didn't name an inputs hash. It covers the agent, action and context.",
    },
    ...(approvals.length > 0
      ? approvals.flatMap(approvalItems)
      : approval.nullifier_hashes.map((hash, index) => ({
          id: hash,
          name: `Human ${index + 1}, nullifier`,
          value: <HashText value={hash} label={`nullifier ${index + 1}`} />,
        }))),
    {
      id: "request_hash",
      name: "Request hash",
      value: <HashText value={approval.request_hash} label="request hash" />,
    },
  ];
}

function TestCallout() {
  return (
    <Callout tone="test" title="TEST approval, not a real person">
      It was made with a test wallet or on World's staging network. It shows that the integration works, and
      nothing about a person.
    </Callout>
  );
}

interface ProvenProps {
  readonly answer: VerifyResponse;
  readonly approval: Proven;
}

/** The grade of it, and whether it was this agent's. */
function ProvenMark({ answer, isTest }: Pick<Verification, "answer" | "isTest">) {
  const isForOtherKey = answer.warnings.some(({ code }) => code === "approval_key_changed");
  if (isTest && !isForOtherKey) return <TestCallout />;
  if (!isForOtherKey) return <StatusPill tone="pass">Proven by World ID</StatusPill>;
  return (
    <>
      {isTest ? <TestCallout /> : null}
      <Callout tone="fail" title="Approved for another key">
        When it was approved, the agent had another registered key, or none. Whoever replaced the key may have
        used an approval that wasn't meant for them.
      </Callout>
    </>
  );
}

function ProvenApproval({ answer, approval, isTest }: ProvenProps & { readonly isTest: boolean }) {
  return (
    <>
      <ProvenMark answer={answer} isTest={isTest} />
      <p className="mt-3 max-w-[68ch]">
        A nullifier is one {isTest ? "test wallet's" : "enrolled human's"} identifier for this request only:
        the same {isTest ? "wallet" : "human"} can't count twice, and it can't link two requests.
        {isTest ? "" : " It doesn't reveal who the human is, or whether they read the page."}
      </p>
      <ProofFacts answer={answer} approval={approval} />
    </>
  );
}

function ProofFacts({ answer, approval }: ProvenProps) {
  return (
    <>
      <div className="mt-3">
        <DefinitionList items={provenItems(approval, answer.human_authorization)} />
      </div>
      {answer.human_authorization === null ? null : (
        <details className="mt-3">
          <summary className="inline-flex min-h-8 items-center text-accent text-sm underline decoration-1 underline-offset-[3px]">
            The authorization as it was issued
          </summary>
          <div className="mt-2">
            <CodeBlock
              wrap
              label="human_authorization"
              code={JSON.stringify(answer.human_authorization, null, 2)}
            />
          </div>
        </details>
      )}
    </>
  );
}

const claims = {
  none: "It says that no human approved.",
  hash: "It says that a human approved, asserted by the caller.",
  proof_of_personhood: "It says that a human approved by World ID.",
} as const;

/** Of a record that failed a check: what it says is shown, and nothing of it as a fact. */
function ClaimedApproval({ answer, isTest }: Pick<Verification, "answer" | "isTest">) {
  const { human_approval: approval, human_approved: isApproved } = answer;
  const unknown = isApproved === true ? "It says that a human approved." : "What it says cannot be read.";
  return (
    <>
      {isTest ? (
        <div className="mb-3">
          <TestCallout />
        </div>
      ) : null}
      <Callout tone="warn" title="Claimed, not verified">
        {approval === null ? unknown : claims[approval.method]} Approval status can't be trusted: this record
        failed verification.
      </Callout>
      {approval?.method === "proof_of_personhood" ? <ProofFacts answer={answer} approval={approval} /> : null}
    </>
  );
}

function AssertedApproval({ approverHash }: { readonly approverHash: string | null }) {
  return (
    <>
      <Callout tone="warn" title="Asserted by the caller, not proven">
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
  if (approval?.method === "proof_of_personhood")
    return <ProvenApproval answer={answer} approval={approval} isTest={isTest} />;
  if (approval?.method === "hash") return <AssertedApproval approverHash={approval.approver_hash} />;
  if (approval?.method === "none")
    return <p>None recorded. Nobody claims that a human was asked. The record is the agent's report.</p>;
  if (answer.human_approved === null) return <p>If one was recorded, it was erased with the content.</p>;
  if (approvalMethod === "hash") return <AssertedApproval approverHash={null} />;
  return (
    <>
      {isTest ? <TestMark /> : null}
      <p className={isTest ? "mt-3" : ""}>
        {approvalMethod === "proof_of_personhood"
          ? "A key of a human enrolled with World ID approved it, as the zero-knowledge proof below shows. Only the owner can show what was approved."
          : answer.human_approved
            ? "An approval is recorded. Only the owner can show what was approved, and how strong the evidence is."
            : "None recorded."}
      </p>
    </>
  );
}
