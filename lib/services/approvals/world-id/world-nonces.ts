/**
 * The nonces of RP signatures: one for each time that a human opens World ID or tries again, bound to its request,
 * used once. A proof whose nonce we did not give out for this request was made for something else. If the request needs
 * the confirmation code, who doesn't know it gets no nonce.
 */

import { and, eq, gt, isNull, lt, sql } from "drizzle-orm";
import type { WorldIdStart } from "#lib/api/schemas/approval-view";
import type { Executor } from "#lib/db/client";
import { worldNonces } from "#lib/db/schema";
import { bindRequest } from "#lib/protocol/approval/approval";
import type { ProtocolVersion, RequiredLevel } from "#lib/protocol/world-id/world-id-proof";
import { agentFrozen } from "#lib/services/agents/freeze";
import type { Context } from "#lib/services/approvals/context";
import { findDecidable } from "#lib/services/approvals/decision/decide";
import { parseRequest } from "#lib/services/approvals/rows";
import { requireWorldLevel } from "./prove";

/** How long World's bridge keeps an answer for the page. */
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

/** POST /approve/{token}/world-id */
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
