/** What the pages, images and badges about an attestation are made from: the API's own answer and a little besides. */

import type { Context } from "#lib/approvals/context";
import { readAttestation } from "#lib/attestations/stored-receipt";
import { parseObject, verifyAttestationById } from "#lib/attestations/verify";
import type { VerifyResponse } from "#lib/contract/verify";
import { isJsonObject } from "#lib/core/encoding/canonical-json";
import { MESSAGE_NAMES } from "#lib/core/presentation/disclosure";
import { parseMessage } from "#lib/core/presentation/disclosure-messages";
import type { HumanApproval } from "#lib/core/statement/statement";
import { readPublicly } from "#lib/http/read-publicly";

export interface VerificationPage {
  /** As a stranger gets it from GET /v1/verify/:id. */
  answer: VerifyResponse;
  /** Of the key that signed; `unknown` if it is not one of the service's. */
  keyStatus: "active" | "retired" | "revoked" | "unknown";
  /** True for private attestations too: a TEST approval is permanently marked everywhere. */
  isTest: boolean;
  /** The grade as far as a stranger may know it: of a private attestation, from its zero-knowledge proof or a warning. */
  approvalMethod: HumanApproval["method"] | null;
}

function findApprovalMethod(answer: VerifyResponse) {
  const { human_approval: approval, checks, zk_proof: proof, warnings } = answer;
  if (approval !== null) return approval.method;
  if (warnings.some(({ code }) => code === "approval_asserted_only")) return "hash";
  const isProven = checks.some(({ name, status }) => name === "zk_proof" && status === "pass");
  const index = MESSAGE_NAMES.indexOf("human_approval_method");
  const method = isProven ? parseMessage(index, proof?.disclosed[index] ?? "") : undefined;
  return method === "none" || method === "hash" || method === "proof_of_personhood" ? method : null;
}

/** A changed payload may say production beside an authorization that still says what it was. */
function isTestAuthorization(stored: Uint8Array | null): boolean {
  const approvals = parseObject(stored)?.["approvals"];
  return (
    Array.isArray(approvals) &&
    approvals.some((one) => isJsonObject(one) && one["environment"] !== "production")
  );
}

function isTestApproval(approval: HumanApproval | undefined): boolean {
  return approval?.method === "proof_of_personhood" && approval.environment !== "production";
}

/** `client`: the address that asks. */
export const verifyForPage = (context: Context, id: string, client: string): Promise<VerificationPage> =>
  readPublicly(context, (from) => verifyFrom(from, id, client));

async function verifyFrom(context: Context, id: string, client: string): Promise<VerificationPage> {
  const answer = await verifyAttestationById(context, id, null, client);
  const stored = await readAttestation(context, id);
  const key = (await context.keys.published()).find(({ keyId }) => keyId === answer.key_id);
  return {
    answer,
    keyStatus: key?.status ?? "unknown",
    isTest:
      isTestApproval(stored.statement?.predicate.human_approval) ||
      isTestAuthorization(stored.human_authorization),
    approvalMethod: findApprovalMethod(answer),
  };
}
