import type { TestApp } from "./app";

/** Agents whose kept count is not that of their public feed's attestations. */
export async function miscountedAgents({ app }: TestApp): Promise<Record<string, unknown>[]> {
  const { rows } = await app.context.database.query(
    `SELECT agents.slug, agent_records.listed, count(attestations.id) AS real
     FROM agents
     LEFT JOIN agent_records ON agent_records.agent_id = agents.id
     LEFT JOIN attestations ON attestations.agent_id = agents.id AND is_public AND payload IS NOT NULL
     GROUP BY agents.id, agent_records.listed
     HAVING coalesce(agent_records.listed, 0) <> count(attestations.id)`,
    [],
  );
  return rows;
}
