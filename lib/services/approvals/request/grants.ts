/** Standing approvals in the database: opened when people approve them, counted where a request is approved by them. */
import { type SQL, sql } from "drizzle-orm";
import { type Executor, rowsOf } from "#lib/db/client";
import { grants } from "#lib/db/schema";
import type { ApprovalRequest, HumanAuthorization } from "#lib/protocol/approval/approval";
import { requestHash } from "#lib/protocol/approval/approval";
import type { DecidedByGrant, GrantTerms } from "#lib/protocol/approval/decided-by";
import { type GrantUsage, nextUse, whyOutOfScope } from "#lib/protocol/approval/grant";
import { base64Decode, hexEncode, sha256, utf8Decode } from "#lib/protocol/encoding/bytes";
import { canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";

/**
 * A use whose hour is over, that nobody claimed and nothing attested, gives its call and amount back. A minute later, so
 * that no attestation of it is still being stored.
 */
const isUse = sql.raw(`(used.attestation_id IS NOT NULL OR used.claimed_at IS NOT NULL
  OR used.revoked_at IS NULL AND used.usable_until > clock_timestamp() - interval '1 minute')`);

const usageOf = (grantId: SQL) => sql`SELECT count(*)::int AS uses,
    coalesce(sum(used.amount_units), 0)::text AS spent
  FROM authorization_requests AS used
  WHERE used.grant_id = ${grantId} AND used.status = 'approved' AND ${isUse}`;

export async function readGrantUsage(executor: Executor, requestId: string): Promise<GrantUsage> {
  const [row] = await rowsOf<Pick<Row, "uses" | "spent">>(executor, usageOf(sql`${requestId}`));
  return { uses: row?.uses ?? 0, spentUnits: BigInt(row?.spent ?? "0") };
}

/** In the transaction that approves the request; `object`: the signed object's canonical bytes. */
export async function openGrant(tx: Executor, agentId: string, object: Uint8Array): Promise<void> {
  const { request, approved_at, usable_until, environment } = JSON.parse(
    utf8Decode(object),
  ) as HumanAuthorization;
  if (request.grant === null) return;
  const { expires_at } = request.grant;
  await tx.insert(grants).values({
    request_id: request.request_id,
    agent_id: agentId,
    public_key: request.agent_public_key === null ? null : base64Decode(request.agent_public_key),
    code_hash: sql`(SELECT code_hash FROM agents WHERE id = ${agentId})`,
    terms: canonicalJson(request.grant as unknown as JsonObject),
    request_hash: requestHash(request),
    authorization_hash: hexEncode(sha256(object)),
    environment,
    approved_at: new Date(approved_at),
    expires_at: new Date(usable_until !== null && usable_until < expires_at ? usable_until : expires_at),
  });
}

export interface ActiveGrant {
  requestId: string;
  /** As people approved it. */
  request: ApprovalRequest;
  terms: GrantTerms;
  requestHash: string;
  authorizationHash: string;
  environment: WorldEnvironment;
  usage: GrantUsage;
}

interface Row {
  request_id: string;
  request: Uint8Array;
  terms: string;
  request_hash: string;
  authorization_hash: string;
  environment: WorldEnvironment;
  uses: number;
  spent: string;
}

/** Not taken back, not over, and of the key and code that the agent has now; oldest first. */
export async function findActiveGrants(tx: Executor, agentId: string): Promise<ActiveGrant[]> {
  const rows = await rowsOf<Row>(
    tx,
    sql`SELECT g.request_id, r.request, g.terms, g.request_hash, g.authorization_hash, g.environment, usage.uses, usage.spent
      FROM grants AS g
      JOIN authorization_requests AS r ON r.id = g.request_id
      JOIN agents AS a ON a.id = g.agent_id
      CROSS JOIN LATERAL (${usageOf(sql`g.request_id`)}) AS usage
      WHERE g.agent_id = ${agentId} AND g.expires_at > clock_timestamp() AND r.revoked_at IS NULL
        AND a.public_key IS NOT DISTINCT FROM g.public_key AND a.code_hash IS NOT DISTINCT FROM g.code_hash
      ORDER BY g.approved_at, g.request_id`,
  );
  return rows.map((row) => ({
    requestId: row.request_id,
    request: JSON.parse(utf8Decode(new Uint8Array(row.request))) as ApprovalRequest,
    terms: JSON.parse(row.terms) as GrantTerms,
    requestHash: row.request_hash,
    authorizationHash: row.authorization_hash,
    environment: row.environment,
    usage: { uses: row.uses, spentUnits: BigInt(row.spent) },
  }));
}

type Asked = Parameters<typeof whyOutOfScope>[1];

/** The oldest grant that covers the request and has something left. */
export function chooseGrant(
  active: readonly ActiveGrant[],
  asked: Asked,
  context: Record<string, string>,
  at: Date,
): { grantId: string; decidedBy: DecidedByGrant; environment: WorldEnvironment | null } | null {
  for (const grant of active) {
    const { terms, usage, requestHash: request_hash, authorizationHash: authorization_hash } = grant;
    if (whyOutOfScope(terms, asked, context, at) !== null) continue;
    const next = nextUse(terms, usage, asked.amount);
    if (typeof next === "string") continue;
    const decidedBy = { kind: "grant", request_hash, authorization_hash, ...next } as const;
    const environment = grant.environment === "production" ? null : grant.environment;
    return { grantId: grant.requestId, decidedBy, environment };
  }
  return null;
}
