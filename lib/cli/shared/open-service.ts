/** Opens the service for commands that change keys or logs. Makes no keys and no log: an empty database is refused. */
import { existsSync } from "node:fs";
import path from "node:path";
import { type Env, readEnv } from "#lib/env";
import { readOpenHead } from "#lib/log/reading/reader";
import { createLogSequencer, type LogSequencer } from "#lib/log/sequencer/sequencer";
import { preferActive, requireOrigin } from "#lib/log/signing/first-keys";
import type { Signer } from "#lib/log/signing/signer";
import type { Signers } from "#lib/log/signing/signing-keys";
import { logger } from "#lib/logger";
import { type OpenedLog, openLog } from "#lib/server/open-log";
import { createRandom } from "#lib/server/random";

export interface CommandContext extends OpenedLog {
  env: Env;
  clock: () => Date;
  /** The keys at hand, whether or not they are the active ones. */
  found: Partial<Signers>;
  openSequencer(logSigner: Signer): LogSequencer;
}

export async function withCommandContext<T>(work: (opened: CommandContext) => Promise<T>): Promise<T> {
  const env = readEnv();
  const isMissing = env.DATABASE_URL === undefined && !existsSync(path.join(env.DATA_DIR, "pglite"));
  if (isMissing)
    throw new Error(`There is no database in ${env.DATA_DIR}. Start the service first, or set DATA_DIR.`);
  const opened = await openLog(env);
  const { database, guard, lock, store, source, firstOrigin } = opened;
  try {
    const open = await readOpenHead(database.db).catch((cause: unknown) => {
      throw new Error("This database is empty. Start the service on it first.", { cause });
    });
    requireOrigin(open, firstOrigin);
    const openSequencer = (logSigner: Signer) =>
      createLogSequencer({ database, keys: { logSigner }, guard, lock, random: createRandom(), logger });
    const { found } = await preferActive(database.db, source);
    return await work({ ...opened, env, clock: () => new Date(), found, openSequencer });
  } finally {
    lock?.close();
    store?.close();
    await database.close();
  }
}
