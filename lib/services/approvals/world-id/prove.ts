/**
 * Checks that a World ID result proves that a human approved this very request: the named request → our own pairing
 * over the stored proof → the root on chain → World's portal. A 200 from World alone is never an approval, and nothing
 * here changes any state.
 */

import { and, eq, gt, isNull, lt, sql } from "drizzle-orm";
import { type IdkitResult, pickProof, type WorldIdStart } from "#lib/api/schemas/approval-view";
import { explainPortalCode } from "#lib/api/schemas/world-id-codes";
import type { Executor } from "#lib/db/client";
import { worldNonces } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { createShare, type Share } from "#lib/jobs/fair-queue";
import {
  type Anchor,
  type ApprovalBinding,
  type ApprovalCheckName,
  type ApprovalRequest,
  bindRequest,
} from "#lib/protocol/approval/approval";
import { reasons } from "#lib/protocol/statement/reasons";
import {
  isCredentialCurrent,
  type ProtocolVersion,
  type RequiredLevel,
  type WorldProof,
} from "#lib/protocol/world-id/world-id-proof";
import { agentFrozen } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import {
  findDecidable,
  type ProvenApproval,
  refused,
  requireSameVersion,
} from "#lib/services/approvals/decision/decide";
import { type AuthorizationRow, parseRequest } from "#lib/services/approvals/rows";
import { isResultOfRequest } from "./provider";

/** The level of World ID that a request asks for; refuses a request that asks for none. */
function requireWorldLevel({ required_level: level }: ApprovalRequest): RequiredLevel {
  if (level === "none") throw refused("this request asks for no World ID");
  return level;
}

/**
 * The result must name what IDKit was configured with. Nothing else in it is trusted. All of it is cheap,
 * and done before a proof may cost anything.
 */
export async function pickNamedProof(
  context: Context,
  row: AuthorizationRow,
  result: IdkitResult,
): Promise<WorldProof> {
  const { worldId } = context;
  const request = parseRequest(row);
  const binding = bindRequest(request);
  requireSameVersion(row, result.protocol_version);
  if (!isResultOfRequest(result, worldId, binding.world_action)) {
    throw refused("the proof is for another action or another World ID environment");
  }
  const isSameSignal = result.responses.every(
    ({ signal_hash }) => signal_hash === undefined || signal_hash === binding.signal_hash,
  );
  if (!isSameSignal)
    throw refused("the proof is for another signal, so it does not cover what this page shows");
  const required = requireWorldLevel(request);
  const { created_at } = request;
  const proof = pickProof(result, required, { app_id: worldId.appId, rp_id: worldId.rpId });
  if (proof === undefined) throw refused(`no proof of the level ${required} is in World ID's answer`);
  if (!isCredentialCurrent(proof, created_at)) throw refused("the credential may have expired");
  // The curve is loaded with the first proof: few starts are followed by one at once.
  const { isWellFormed } = await import("#lib/verifier/checks/check-world-proof");
  if (!isWellFormed(proof)) throw refused(reasons.malformed_proof);
  return proof;
}

async function checkRoot(context: Context, proof: WorldProof, share: Share): Promise<Anchor | undefined> {
  const verdict = await context.worldCalls.run(share, () => context.worldId.checkRoot(proof));
  if (verdict.status === "not_on_chain") throw refused(`the proof's root is ${verdict.detail}`);
  return verdict.status === "anchored" ? verdict.anchor : undefined;
}

/** False if v4's key or the chain's keys are missing: then World alone can check the proof. */
async function checkPairing(
  context: Context,
  proof: WorldProof,
  binding: ApprovalBinding,
  anchor: Anchor | undefined,
  share: Share,
): Promise<boolean> {
  const { environment, v4KeyJson } = context.worldId;
  const { world_action: action, signal_hash: signalHash } = binding;
  const input = { proof, action, signalHash, environment, v4KeyJson, anchor };
  const check = await context.pool.run("checkWorldProof", input, share);
  if (check === null) return false;
  if (!check.ok) throw refused(reasons[check.reason]);
  return true;
}

async function askWorld(
  context: Context,
  proof: WorldProof,
  binding: ApprovalBinding,
  share: Share,
): Promise<void> {
  const verdict = await context.worldCalls.run(share, () => context.worldId.verifyWithPortal(proof, binding));
  if (verdict.ok) return;
  const { code, detail } = verdict;
  context.logger.warn({ code, detail }, "World did not accept a proof");
  const { text, isTransient } = explainPortalCode(code);
  if (!isTransient) throw refused(text);
  throw new AppError("service_unavailable", `${text}; the request is still pending`, {
    headers: { "retry-after": "5" },
  });
}

/**
 * Throws `approval_refused` with the reason, or `service_unavailable` if World is out of reach. `client`: the address
 * that sent it, or null if that is no longer known.
 */
export async function proveApproval(
  context: Context,
  row: AuthorizationRow,
  result: IdkitResult,
  client: string | null,
): Promise<ProvenApproval> {
  const binding = bindRequest(parseRequest(row));
  const proof = await pickNamedProof(context, row, result);
  const share = createShare("approval", { organization: row.organization_id, request: row.id, client });
  // v4's public inputs hold keys that only the chain knows, so there it comes before the pairing.
  const isV4 = proof.protocol_version === "4.0";
  const keys = isV4 ? await checkRoot(context, proof, share) : undefined;
  const isPaired = await checkPairing(context, proof, binding, keys, share);
  const anchor = isV4 ? keys : await checkRoot(context, proof, share);
  await askWorld(context, proof, binding, share);
  const verified_by: ApprovalCheckName[] = [
    ...(isPaired ? (["groth16-local"] as const) : []),
    "world-portal-v4",
    ...(anchor === undefined ? [] : (["world-chain"] as const)),
  ];
  const { environment } = context.worldId;
  return {
    type: "world_id",
    ...proof,
    environment,
    verified_by,
    ...(anchor === undefined ? {} : { anchor }),
  };
}

/*
 * The nonces of RP signatures: one for each time that a human opens World ID or tries again, bound to its request,
 * used once. A proof whose nonce we did not give out for this request was made for something else. If the request needs
 * the confirmation code, who doesn't know it gets no nonce.
 */

/** Seconds for which World's bridge keeps an answer for the page. */
const bridgeSeconds = 900;

/**
 * World ID 4.0 first, and what came before it in its place; if the first approval has fixed a version, only that one.
 */
function choosePresets(
  required: RequiredLevel,
  version: ProtocolVersion | null,
): Pick<WorldIdStart, "preset" | "fallback"> {
  const legacy = required === "device" ? "device_legacy" : "orb_legacy";
  if (version === "3.0") return { preset: legacy, fallback: null };
  const fallback = version === null && required === "device" ? "device_legacy" : null;
  return { preset: "proof_of_human", fallback };
}

export async function startWorldId(
  context: Context,
  requestId: string,
  tried: { code: string | null | undefined; ip: string },
): Promise<WorldIdStart> {
  const { row } = await findDecidable(context, requestId, tried);
  if (row.agentFrozenAt !== null) throw agentFrozen();
  const request = parseRequest(row);
  const version = row.protocol_version as ProtocolVersion | null;
  const presets = choosePresets(requireWorldLevel(request), version);
  const { world_action, signal } = bindRequest(request);
  const rp_context = context.worldId.signRequest(world_action);
  const { db } = context.database;
  await db
    .delete(worldNonces)
    .where(
      and(
        eq(worldNonces.request_id, requestId),
        isNull(worldNonces.used_at),
        lt(worldNonces.expires_at, sql`now()`),
      ),
    );
  const lifeSeconds = rp_context.expires_at - rp_context.created_at + bridgeSeconds;
  await db.insert(worldNonces).values({
    nonce: rp_context.nonce,
    request_id: requestId,
    expires_at: sql`now() + make_interval(secs => ${lifeSeconds})`,
  });
  return {
    ...context.worldId.idkitConfig,
    action: world_action,
    signal,
    ...presets,
    protocol_version: version,
    allow_legacy_proofs: version !== "4.0",
    rp_context,
  };
}

/** False for a nonce of another request or of none, used or expired. */
export async function spendNonce(tx: Executor, requestId: string, nonce: string): Promise<boolean> {
  const used = await tx
    .update(worldNonces)
    .set({ used_at: sql`now()` })
    .where(
      and(
        eq(worldNonces.nonce, nonce),
        eq(worldNonces.request_id, requestId),
        isNull(worldNonces.used_at),
        gt(worldNonces.expires_at, sql`now()`),
      ),
    )
    .returning({ nonce: worldNonces.nonce });
  return used.length === 1;
}
