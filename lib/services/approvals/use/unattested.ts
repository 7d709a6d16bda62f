/** Approvals that a run has claimed and that no attestation followed: the action ran unrecorded, or its program ended. */

import { sql } from "drizzle-orm";
import { type Database, rowsOf } from "#lib/db/client";

/** Notices each once. The message is written by the same statement; a process that comes second finds nothing left. */
export async function markUnattested({ db }: Pick<Database, "db">): Promise<void> {
  await rowsOf(
    db,
    sql`WITH late AS (
      UPDATE authorization_requests SET unattested_at = clock_timestamp()
      WHERE claimed_at <= clock_timestamp() - interval '1 hour' AND attestation_id IS NULL AND unattested_at IS NULL
      RETURNING id, organization_id, unattested_at, callback_url
    )
    SELECT announce_event(organization_id, 'authorization.unattested', id, unattested_at,
      format('"request_id":"%s","status":"approved"', id), callback_url) FROM late`,
  );
}
