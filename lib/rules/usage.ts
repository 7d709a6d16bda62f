/** What an agent's approved requests of a UTC day come to, as rules see it. */
import { type SQL, sql } from "drizzle-orm";

export interface DayUsage {
  uses: number;
  /** Of the currency, in units of 10⁻⁴. */
  spentUnits: bigint;
}

/** `r`: the request; what is approved before `until` counts. Standing approvals are no uses themselves. */
export const dayUsage = (agent: SQL, currency: SQL, until: SQL) => sql`
  SELECT count(*)::int AS uses,
    coalesce(sum(day.amount_units) FILTER (WHERE day.currency = ${currency}), 0)::text AS spent
  FROM authorization_requests AS day
  WHERE day.agent_id = ${agent} AND day.status = 'approved' AND day.decided_at < ${until}
    AND day.decided_at >= date_trunc('day', ${until} AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`;
