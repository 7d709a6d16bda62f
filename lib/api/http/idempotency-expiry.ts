/** How long the answer to a request with an Idempotency-Key is kept (docs/wire.md, Idempotency). */
import { sql } from "drizzle-orm";
import { idempotencyKeys } from "#lib/db/schema";

/**
 * An answer may be forgotten when its time is over. The answer to POST /v1/authorize is kept as long as its approval can be
 * used, for a day after its use, and as long as a standing approval lasts: a repeat in that time gets the same request, not
 * a second human. Nobody forgets it if the approval was taken back, or if a run has claimed it and nothing was attested:
 * nobody knows how far that run came, and a second request could be approved and run again.
 */
export const isForgettable = sql`${idempotencyKeys.expires_at} < now() AND NOT EXISTS (
  SELECT FROM authorization_requests AS asked LEFT JOIN attestations AS used ON used.id = asked.attestation_id
  WHERE asked.id = ${idempotencyKeys.authorization_id}
    AND (coalesce(why_unusable(asked), 'frozen') IN ('frozen', 'code_changed')
      OR asked.revoked_at IS NOT NULL OR asked.claimed_at IS NOT NULL AND asked.attestation_id IS NULL
      OR used.created_at > now() - interval '24 hours'
      OR EXISTS (SELECT FROM grants WHERE grants.request_id = asked.id AND grants.expires_at > now())))`;
