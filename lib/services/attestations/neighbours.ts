/** The public reports of the same agent around one of them: what is usual for it is measured by these. */

import type { Database } from "#lib/db/client";
import type { NeighbourReport } from "#lib/verifier/checks/habits";

/** On each side. */
const shown = 50;

interface Row extends Omit<NeighbourReport, "recorded_at"> {
  is_before: boolean;
  log_id: number;
  leaf_index: number;
  created_at: Date;
}

const place = ["log_id", "leaf_index"] as const;
const own = (column: string) => `(SELECT ${column} FROM own)`;

/** In the order of an index and compared with single values, so that fifty rows are read and not the agent's all. */
const side = (isBefore: boolean) => `SELECT ${isBefore} AS is_before, a.log_id, a.leaf_index, a.action,
    a.human_approval_method, a.agent_signature_hash IS NOT NULL AS is_signed, a.created_at
  FROM attestations a
  WHERE a.agent_id = ${own("agent_id")} AND a.is_public
    AND (a.log_id, a.leaf_index) ${isBefore ? "<" : ">"} (${place.map(own).join(", ")})
  ORDER BY ${place.map((column) => `a.${column} ${isBefore ? "DESC NULLS LAST" : "ASC NULLS FIRST"}`).join(", ")}
  LIMIT ${shown}`;

/** $1: id. */
export const neighboursSql = `WITH own AS MATERIALIZED (SELECT agent_id, log_id, leaf_index FROM attestations WHERE id = $1)
  (${side(true)}) UNION ALL (${side(false)})`;

/** Nearest first on both sides. */
export async function readNeighbours(
  database: Database,
  id: string,
): Promise<{ before: NeighbourReport[]; after: NeighbourReport[] }> {
  const rows = await database.statement<Row>(neighboursSql)(id);
  const on = (isBefore: boolean) =>
    rows
      .filter(({ is_before }) => is_before === isBefore)
      .toSorted((a, b) => (a.log_id - b.log_id || a.leaf_index - b.leaf_index) * (isBefore ? -1 : 1))
      .map(({ action, human_approval_method, is_signed, created_at }) => ({
        action,
        human_approval_method,
        is_signed,
        recorded_at: created_at.toISOString(),
      }));
  return { before: on(true), after: on(false) };
}
