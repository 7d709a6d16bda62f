/** This instance's newest public attestation, for the landing page, read from its signed bytes. */

import { and, eq, gte, isNotNull, lt } from "drizzle-orm";
import type { Context } from "#lib/approvals/context";
import { attestations } from "#lib/db/schema";
import { publicUrl } from "#lib/domain/addresses";
import { hexEncode } from "#lib/domain/bytes";
import type { HumanApproval } from "#lib/domain/statement";
import type { Warning } from "#lib/domain/warnings";
import { readOpenHead } from "#lib/log/reader";
import { byPlace, readAttestations } from "./list";

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
  const head = await readOpenHead(context.database.db);
  const isNew = and(
    eq(attestations.log_id, head.id),
    gte(attestations.leaf_index, head.size - newestEntries),
    lt(attestations.leaf_index, head.size),
  );
  const scope = and(isNew, isNotNull(attestations.payload));
  const { shown } = await readAttestations(
    context,
    scope,
    { isPublic: true },
    { limit: candidates },
    byPlace,
  );
  for (const { row, statement, warnings } of shown) {
    if (statement === null) continue;
    const { predicate } = statement;
    const slug = String(predicate.request["agent_slug"]);
    return {
      slug,
      action: String(predicate.request["action"]),
      timestamp: predicate.timestamp,
      payloadHash: hexEncode(row.payload_hash),
      logIndex: row.leaf_index,
      approval: predicate.human_approval,
      warnings,
      publicUrl: publicUrl(context.settings.baseUrl, slug, row.id),
    };
  }
  return null;
}
