/** All that `npm run doctor` looks at. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { Env } from "#lib/env";
import { examineDatabase, examineKeys, examineLog, examineReplica } from "./doctor-keys";
import { examineOutside, examineSettings, type Outside, readSettings } from "./doctor-settings";
import type { Finding } from "./findings";

const examineEmpty = async (env: Env, clock: () => Date) => [
  ...(await examineKeys(env, "empty")),
  ...(await examineLog(env, "empty", clock)),
];

async function examineStored(env: Env, clock: () => Date): Promise<Finding[]> {
  // A running service has the embedded database to itself.
  if (env.DATABASE_URL === undefined)
    return existsSync(path.join(env.DATA_DIR, "pglite")) ? examineKeys(env, null) : examineEmpty(env, clock);
  const { findings, database, isEmpty } = await examineDatabase(env.DATABASE_URL, env, clock);
  if (isEmpty) return [...findings, ...(await examineEmpty(env, clock))];
  if (database === null) return [...findings, ...(await examineKeys(env, null))];
  try {
    const { DATABASE_REPLICA_URL: replica } = env;
    const standby = replica === undefined ? [] : await examineReplica(replica, database);
    const [keys, log] = [await examineKeys(env, database), await examineLog(env, database, clock)];
    return [...findings, ...standby, ...keys, ...log];
  } finally {
    await database.close();
  }
}

export async function examine(
  variables: Record<string, string | undefined>,
  outside: Outside,
): Promise<Finding[]> {
  const env = readSettings(variables);
  if (Array.isArray(env)) return env;
  const stored = await examineStored(env, outside.clock);
  return [...examineSettings(env), ...stored, ...(await examineOutside(env, outside))];
}
