/** Sums an agent's approved requests of a UTC day, as rules see them. */
import { type SQL, sql } from "drizzle-orm";

export interface DayUsage {
  uses: number;
  /** Sum in the currency, in units of 10⁻⁴. */
  spentUnits: bigint;
}

/**
 * Counts all approved requests of the UTC day of `at` that the statement sees, or those that `counts` leaves. Nothing
 * is left out by its time: two requests can be decided in one millisecond. A standing approval is no use itself.
 */
export const dayUsage = (agent: SQL, currency: SQL, at: SQL, counts: SQL = sql`true`) => sql`
  SELECT count(*)::int AS uses,
    coalesce(sum(day.amount_units) FILTER (WHERE day.currency = ${currency}), 0)::text AS spent
  FROM authorization_requests AS day
  WHERE day.agent_id = ${agent} AND day.status = 'approved' AND ${counts}
    AND day.decided_at >= date_trunc('day', ${at} AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
    AND NOT EXISTS (SELECT FROM grants WHERE grants.request_id = day.id)`;
