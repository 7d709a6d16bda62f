/** The logs of this service and the key that signs each one's checkpoints. */
import { and, asc, eq } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { logs, signingKeys } from "#lib/db/schema";
import { makeVerifierKey, type VerifierKey } from "#lib/protocol/tlog/signed-note";

/** Every log with its key, oldest first. */
export async function readLogs(executor: Executor) {
  const rows = await executor
    .select({ log: logs, publicKey: signingKeys.public_key })
    .from(logs)
    .innerJoin(signingKeys, and(eq(signingKeys.key_id, logs.key_id), eq(signingKeys.purpose, "log")))
    .orderBy(asc(logs.id));
  return rows.map(({ log, publicKey }) => ({ ...log, key: makeVerifierKey(log.origin, 1, publicKey) }));
}

/** The key of the log with this origin; an old log keeps its own. */
export async function findLogKey(executor: Executor, origin: string): Promise<VerifierKey | null> {
  return (await readLogs(executor)).find((log) => log.origin === origin)?.key ?? null;
}
