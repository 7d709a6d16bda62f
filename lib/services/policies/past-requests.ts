/** Decided requests as suggestions of rules look at them (lib/protocol/policy/suggest.ts). */
import { sql } from "drizzle-orm";
import { queryRows } from "#lib/db/client";
import { AppError } from "#lib/errors";
import { checkDerivation, type Derivation, type PastRequest } from "#lib/protocol/policy/suggest";
import { isTestKey } from "#lib/services/keys/api-keys";
import type { RulesContext } from "./context";

const maxPast = 100_000;
/** Rows that are read and written out before others get their turn. */
const usualPage = 2_000;

export interface PastRow {
  id: string;
  hash: string;
  /** RFC 3339, as it was signed. */
  created_at: string;
  /** Time of the row, as the database writes it. */
  place: string;
  waited: number;
  past: string;
}

/**
 * Decisions of people in the window, the newest first, with what rules said of them; uses of rules and standing approvals
 * are none, unless a person said afterwards that one should have been asked about: that counts as a refusal. Without content nothing can be said of a request; an approval that took a change is nobody's habit.
 */
export async function* readPast(
  { database, worldId }: RulesContext,
  organizationId: string,
  { from, to }: { from: Date; to: Date },
  pageSize = usualPage,
): AsyncGenerator<PastRow[]> {
  const isLocal = worldId.environment !== "production";
  let before = sql`true`;
  for (let read = 0; read < maxPast; read += pageSize) {
    const rows = await queryRows<PastRow>(
      database.db,
      sql`SELECT id, hash, asked ->> 'created_at' AS created_at, created_at::text AS place, waited, json_build_object(
          'hash', hash, 'agent', asked ->> 'agent_slug', 'action', asked ->> 'action', 'tool', asked -> 'tool',
          'amount', asked -> 'amount', 'context', context::json,
          'isComplete', coalesce((asked -> 'details' ->> 'complete')::boolean, asked ->> 'inputs_hash' IS NULL),
          'created_at', asked ->> 'created_at', 'decided_at', decided_at, 'outcome', CASE WHEN status = 'approved' AND verdict IS NULL THEN 'approved' ELSE 'refused' END,
          'isHeld', coalesce(reason <> 'nothing_permits', false),
          'isTest', is_test OR coalesce(environment, ${isLocal ? "local" : "production"}) <> 'production')::text AS past
        FROM (
          SELECT r.id, r.created_at, r.status, r.context, encode(r.request_hash, 'hex') AS hash,
            convert_from(r.request, 'UTF8')::json AS asked, r.rule_outcome::json ->> 'reason' AS reason,
            to_char(r.decided_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS decided_at,
            review.verdict, extract(epoch FROM r.decided_at - r.created_at)::float8 AS waited, ${isTestKey} AS is_test,
            convert_from(r.human_authorization, 'UTF8')::json ->> 'environment' AS environment
          FROM authorization_requests AS r JOIN api_keys ON api_keys.id = r.api_key_id
            LEFT JOIN use_reviews AS review ON review.request_id = r.id AND review.verdict = 'should_ask'
          WHERE r.organization_id = ${organizationId} AND r.created_at >= ${from.toISOString()}
            AND r.created_at < ${to.toISOString()} AND r.context IS NOT NULL AND ${before}
            AND (r.status = 'denied' OR r.amended_by IS NOT NULL OR review.verdict = 'should_ask' OR (r.status = 'approved' AND r.amends IS NULL
              AND coalesce(r.decided_by::json ->> 'kind', 'people') = 'people'))
        ) AS decided WHERE asked -> 'grant' IS NULL OR json_typeof(asked -> 'grant') = 'null'
        ORDER BY decided.created_at DESC, id DESC LIMIT ${pageSize}`,
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    before = sql`(r.created_at, r.id) < (${last.place}::timestamptz, ${last.id})`;
  }
}

/** Throws if a decision that was made meanwhile speaks against it. */
export async function requireDerivation(
  context: RulesContext,
  organizationId: string,
  derivation: Derivation,
  rulesText: string,
): Promise<void> {
  const past: PastRequest[] = [];
  // The database's clock may be ahead of this process's.
  const window = { from: new Date(derivation.from), to: new Date("9999-12-31T23:59:59.999Z") };
  for await (const rows of readPast(context, organizationId, window))
    for (const row of rows) {
      const one = JSON.parse(row.past) as PastRequest;
      if (one.agent === derivation.bounds.agent) past.push(one);
    }
  const asOfNow = { ...derivation, to: window.to.toISOString() };
  const { fault, missing } = checkDerivation(asOfNow, rulesText, past);
  if (fault !== null || missing > 0)
    throw new AppError(
      "rules_changed",
      "this rule no longer follows from your decisions, one of which was refused, changed or erased meanwhile: drop it",
    );
}
