/** GET /v1/attestations: an organization's own, newest first, read from their signed bytes. */

import { and, desc, eq, gte, ilike, lt, type SQL } from "drizzle-orm";
import { slugKey } from "#lib/agents/agents";
import type { Context } from "#lib/approvals/context";
import type { ListAttestationsQuery, OwnAttestation, OwnAttestationsResponse } from "#lib/contract/receipts";
import { agents, attestations } from "#lib/db/schema";
import { base64UrlDecode, base64UrlEncode, utf8Decode, utf8Encode } from "#lib/domain/bytes";
import { isUuid } from "#lib/domain/ids";
import { AppError } from "#lib/errors";
import type { PublishedKey } from "#lib/signing/signing-keys";
import { describeFeedEntry } from "./feed";
import { matchesWarnings } from "./stored-warnings";
import { isErased } from "./view";

/** Ids are UUIDv7, so their order is that of time; the cursor is the last one shown. */
function decodeCursor(cursor: string): string {
  try {
    const id = utf8Decode(base64UrlDecode(cursor));
    if (isUuid(id)) return id;
  } catch {
    // answered below
  }
  throw new AppError("bad_request", "cursor: is not valid");
}

/** `%`, `_` and `\\` are letters here. */
function containing(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
}

function conditions(
  organizationId: string,
  query: ListAttestationsQuery,
  keys: readonly PublishedKey[],
): SQL | undefined {
  return and(
    eq(attestations.organization_id, organizationId),
    query.cursor === undefined ? undefined : lt(attestations.id, decodeCursor(query.cursor)),
    query.agent_slug === undefined ? undefined : eq(agents.slug_key, slugKey(query.agent_slug)),
    query.human_approval_method === undefined
      ? undefined
      : eq(attestations.human_approval_method, query.human_approval_method),
    query.from === undefined ? undefined : gte(attestations.created_at, query.from),
    query.to === undefined ? undefined : lt(attestations.created_at, query.to),
    query.q === undefined ? undefined : ilike(attestations.action, containing(query.q)),
    matchesWarnings(query.warnings, keys),
  );
}

export async function listAttestations(
  context: Context,
  organizationId: string,
  query: ListAttestationsQuery,
): Promise<OwnAttestationsResponse> {
  const keys = await context.keys.published();
  const rows = await context.database.db
    .select({ attestation: attestations, slug: agents.slug })
    .from(attestations)
    .innerJoin(agents, eq(agents.id, attestations.agent_id))
    .where(conditions(organizationId, query, keys))
    .orderBy(desc(attestations.id))
    .limit(query.limit + 1);
  const shown = rows.slice(0, query.limit);
  const last = shown.at(-1);
  return {
    attestations: shown.map((row) => describeOwn(context.settings.baseUrl, row, keys)),
    next_cursor: rows.length > query.limit && last ? base64UrlEncode(utf8Encode(last.attestation.id)) : null,
  };
}

function describeOwn(
  baseUrl: string,
  { attestation, slug }: { attestation: typeof attestations.$inferSelect; slug: string },
  keys: readonly PublishedKey[],
): OwnAttestation {
  return {
    ...describeFeedEntry(baseUrl, slug, attestation, keys),
    agent_slug: slug,
    is_public: attestation.is_public,
    status: isErased(attestation) ? "erased" : "recorded",
    erased_at: attestation.erased_at?.toISOString() ?? null,
    created_at: attestation.created_at.toISOString(),
  };
}
