/** The newest public attestation of this instance, for the landing page; told from its signed bytes. */
import { and, desc, eq, gte, isNotNull } from "drizzle-orm";
import { attestations } from "#lib/db/schema";
import { hexEncode } from "#lib/domain/bytes";
import { type HumanApproval, parseActionStatement } from "#lib/domain/statement";
import { publicUrl } from "./attestation-view";
import type { Context } from "./context";
import { readOpenHead } from "./log-reader";

export interface LatestAttestation {
  slug: string;
  action: string;
  timestamp: string;
  payloadHash: string;
  logIndex: number;
  approval: HumanApproval;
  publicUrl: string;
}

/** Bounds the search where almost everything is private. */
const newestEntries = 1_000;

/** Null where the newest entries of the log hold none, or it cannot be read. */
export async function readLatestAttestation(context: Context): Promise<LatestAttestation | null> {
  const { db } = context.database;
  const head = await readOpenHead(db);
  const isNew = and(
    eq(attestations.log_id, head.id),
    gte(attestations.leaf_index, head.size - newestEntries),
  );
  const [row] = await db
    .select({
      id: attestations.id,
      payload: attestations.payload,
      payloadHash: attestations.payload_hash,
      logIndex: attestations.leaf_index,
    })
    .from(attestations)
    .where(and(isNew, eq(attestations.is_public, true), isNotNull(attestations.payload)))
    .orderBy(desc(attestations.leaf_index))
    .limit(1);
  const predicate = row?.payload ? parseActionStatement(row.payload)?.predicate : undefined;
  if (row === undefined || predicate === undefined) return null;
  const slug = String(predicate.request["agent_slug"]);
  return {
    slug,
    action: String(predicate.request["action"]),
    timestamp: predicate.timestamp,
    payloadHash: hexEncode(row.payloadHash),
    logIndex: row.logIndex,
    approval: predicate.human_approval,
    publicUrl: publicUrl(context.settings.baseUrl, slug, row.id),
  };
}
