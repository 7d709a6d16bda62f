/** The checks of what the payload claims: the agent's identity, the human's approval, the zero-knowledge proof. */
import { judgeApprovalKey } from "./approval-key";
import { isJsonObject, type JsonObject } from "./canonical-json";
import { verifyEd25519Strict } from "./ed25519";
import { checkAgentSignature, checkCodeHash, checkTools } from "./identity-checks";
import type { CostlyChecks } from "./receipt";
import { fail, miss, type Outcome, pass, type Subject, skip, withoutPayload } from "./record-checks";
import { type ActionStatement, canonicalHash, type Verdict } from "./statement";

const verdictWords = { true: "true", false: "false", null: "nothing to compare" } as const;

/** A recorded false that is still false passes: the record is honest about it. */
function compareVerdict(signed: Verdict, recomputed: Verdict): Outcome {
  if (signed !== recomputed)
    return fail(`recorded ${verdictWords[`${signed}`]}, recomputed ${verdictWords[`${recomputed}`]}`);
  return signed === null ? skip("nothing to compare") : pass(`recorded ${signed}, recomputed ${signed}`);
}

function recheckIdentity(subject: Subject, recheck: (statement: ActionStatement) => Outcome): Outcome {
  if (subject.payload === null) return withoutPayload(subject);
  return subject.statement === null ? fail("the payload is not a statement") : recheck(subject.statement);
}

/** `agent_signature` is of a key that anyone may have registered, so only the strict verifier judges it. */
export function checkAgent(subject: Subject): Outcome {
  return recheckIdentity(subject, ({ predicate }) => {
    const { request, agent_signature, registered, verdicts } = predicate;
    const recomputed = checkAgentSignature(
      request,
      agent_signature,
      registered.agent_public_key,
      verifyEd25519Strict,
    );
    return compareVerdict(verdicts.agent_authenticated, recomputed);
  });
}

export function checkCode(subject: Subject): Outcome {
  return recheckIdentity(subject, ({ predicate: { request, registered, verdicts } }) =>
    compareVerdict(verdicts.code_hash_verified, checkCodeHash(request, registered.code_hash)),
  );
}

export function checkToolsUsed(subject: Subject): Outcome {
  return recheckIdentity(subject, ({ predicate: { request, registered, verdicts } }) => {
    const { toolManifest } = subject.receipt;
    const manifest = toolManifest === "absent" ? null : toolManifest;
    const recomputed = checkTools(request, registered.tool_manifest_hash, manifest);
    if (recomputed !== null && toolManifest === "absent")
      return miss("the registered tool manifest is not in this file");
    return compareVerdict(verdicts.tools_authorized, recomputed);
  });
}

/** What the payload says of the authorization against the embedded object; null where they fit. */
function findMisfit(statement: ActionStatement, object: JsonObject): string | null {
  const { request, human_approval: approval } = statement.predicate;
  if (approval.method !== "proof_of_personhood") return "the payload records no authorization";
  const { request: asked, binding, approvals } = object;
  if (!isJsonObject(asked) || !isJsonObject(binding) || !Array.isArray(approvals))
    return "the authorization is malformed";
  const given = approvals.filter(isJsonObject);
  const hash = canonicalHash(object);
  const facts: [string, boolean][] = [
    ["hash", hash === approval.authorization_hash && hash === request["human_authorization_hash"]],
    ["request hash", binding["request_hash"] === approval.request_hash],
    ["nullifiers", given.map((one) => one["nullifier_hash"]).join() === approval.nullifier_hashes.join()],
    ["environment", given.length > 0 && given.every((one) => one["environment"] === approval.environment)],
    ["organization", asked["organization"] === statement.predicate.organization],
    ["agent", String(asked["agent_slug"]).toLowerCase() === String(request["agent_slug"]).toLowerCase()],
    ["agent's key", judgeApprovalKey(statement, object) !== "changed"],
    ["action", asked["action"] === request["action"]],
    ["inputs", asked["inputs_hash"] === undefined || asked["inputs_hash"] === request["inputs_hash"]],
    ["binding to inputs", (asked["inputs_hash"] !== undefined) === approval.inputs_bound],
    ["level", approval.level === weakestLevel(given)],
  ];
  const misfit = facts.find(([, fits]) => !fits);
  return misfit ? `the authorization does not fit the attestation: ${misfit[0]}` : null;
}

/** The level that all of the approvals reach. */
export function weakestLevel(approvals: readonly JsonObject[]): string {
  return approvals.every(({ level }) => level === "orb" || level === "proof_of_human") ? "orb" : "device";
}

export async function checkHumanAuthorization(subject: Subject, costly: CostlyChecks): Promise<Outcome> {
  const { receipt, statement } = subject;
  if (subject.payload === null) return withoutPayload(subject);
  if (statement === null) return fail("the payload is not a statement");
  const approval = statement.predicate.human_approval;
  const object = receipt.humanAuthorization;
  if (approval.method !== "proof_of_personhood") {
    if (object !== null && object !== "absent")
      return fail("an authorization stands beside a payload that records none");
    return skip(
      approval.method === "hash" ? "asserted by the caller, not proven" : "no human approval was recorded",
    );
  }
  if (object === "absent") return miss("the authorization that the payload names is not in this file");
  if (object === null) return fail("the authorization that the payload names is missing");
  const misfit = findMisfit(statement, object);
  if (misfit !== null) return fail(misfit);
  const { ok, detail } = await costly.verifyHumanAuthorization(object);
  return ok ? pass(detail) : fail(detail);
}

export async function checkZkProof(subject: Subject, costly: CostlyChecks): Promise<Outcome> {
  const { receipt, payload, statement } = subject;
  const isNamed = statement?.predicate.zk !== undefined;
  if (receipt.zkProof === "absent" && isNamed) return miss("the zero-knowledge proof is not in this file");
  if (receipt.zkProof === "absent" || receipt.zkProof === null || receipt.zkProof === undefined) {
    if (receipt.payload === "erased") return withoutPayload(subject);
    return isNamed
      ? fail("the zero-knowledge proof that the payload names is missing")
      : skip(payload === null ? "no zero-knowledge proof is shown" : "no zero-knowledge proof was asked for");
  }
  if (statement !== null && !isNamed)
    return fail("a zero-knowledge proof stands beside a payload that names none");
  const expected = { attestationId: receipt.attestationId, payload };
  const { ok, detail } = await costly.verifyZkProof(receipt.zkProof, expected);
  if (ok === null) return payload === null ? miss(detail) : skip(detail);
  return ok ? pass(detail) : fail(detail);
}
