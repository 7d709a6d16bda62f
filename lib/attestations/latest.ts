/** The newest public attestation of this instance, for the landing page, read from its signed bytes. */

import { and, desc, eq, gte, isNotNull, lt } from "drizzle-orm";
import type { Context } from "#lib/approvals/context";
import { attestations } from "#lib/db/schema";
import { publicUrl } from "#lib/domain/addresses";
import { hexEncode } from "#lib/domain/bytes";
import type { HumanApproval } from "#lib/domain/statement";
import type { Warning } from "#lib/domain/warnings";
import { readOpenHead } from "#lib/log/reader";
import { readSignedStatement } from "./signed-statement";
import { describeWarnings } from "./stored-warnings";

export interface LatestAttestation {
  slug: string;
  action: string;
  timestamp: string;
  payloadHash: string;
  logIndex: number;
  approval: HumanApproval;
  warnings: Warning[];
  publicUrl: string;
}

/** Bounds the search where almost everything is private. */
const newestEntries = 1_000;
/** Of the public ones: more than one is read only because a changed row is no example. */
const candidates = 5;

/** Null if the newest entries of the log hold none whose signature holds, or it cannot be read. */
export async function readLatestAttestation(context: Context): Promise<LatestAttestation | null> {
  const { db } = context.database;
  const head = await readOpenHead(db);
  const isNew = and(
    eq(attestations.log_id, head.id),
    gte(attestations.leaf_index, head.size - newestEntries),
    lt(attestations.leaf_index, head.size),
  );
  const rows = await db
    .select({
      id: attestations.id,
      payload: attestations.payload,
      payload_hash: attestations.payload_hash,
      signature: attestations.signature,
      key_id: attestations.key_id,
      is_public: attestations.is_public,
      erased_at: attestations.erased_at,
      human_authorization: attestations.human_authorization,
      logIndex: attestations.leaf_index,
    })
    .from(attestations)
    .where(and(isNew, eq(attestations.is_public, true), isNotNull(attestations.payload)))
    .orderBy(desc(attestations.leaf_index))
    .limit(candidates);
  const keys = await context.keys.published();
  for (const row of rows) {
    const statement = readSignedStatement(row, keys);
    if (statement === null) continue;
    const { predicate } = statement;
    const slug = String(predicate.request["agent_slug"]);
    return {
      slug,
      action: String(predicate.request["action"]),
      timestamp: predicate.timestamp,
      payloadHash: hexEncode(row.payload_hash),
      logIndex: row.logIndex,
      approval: predicate.human_approval,
      warnings: describeWarnings(row, statement, keys),
      publicUrl: publicUrl(context.settings.baseUrl, slug, row.id),
    };
  }
  return null;
}
