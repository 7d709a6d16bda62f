/**
 * Probes if an attestation could be stored now: a database that answers may still refuse every write (rights taken
 * away, a standby, a full disk), and a key may have been rotated away or the log put back. Leaves nothing behind.
 */
import { sql } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import { writeProbe } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { count } from "#lib/instrumentation";
import type { SigningKeys } from "#lib/log/signing/signing-keys";
import type { Logger } from "#lib/logger";
import { checkHead, type ForkGuard, ForkGuardError } from "./fork-guard";
import type { HeadLock } from "./head-lock";

/** Writes of an attestation. Rights are judged before the first row, and there is none. */
export const attestationWrites = [
  "UPDATE logs SET size = size WHERE false",
  "UPDATE log_tiles SET hashes = hashes WHERE false",
  "UPDATE agent_records SET sequence = sequence WHERE false",
  "UPDATE daily_usage SET attestations = attestations WHERE false",
  "UPDATE idempotency_keys SET response = response WHERE false",
  ...[
    "log_tiles",
    "log_checkpoints",
    "log_leaves",
    "agent_records",
    "attestations",
    "agents",
    "daily_usage",
  ].map((table) => `INSERT INTO ${table} SELECT * FROM ${table} WHERE false`),
].join("; ");

/** No autovacuum has looked here for a long time: the probe must not fill the disk itself. */
const largestProbeBytes = 8_000_000;

/** A page of the disk, which a rolled back row leaves to the next vacuum. In one statement, so in one round trip. */
const tryWriting = `DO $$ BEGIN
  ${attestationWrites};
  INSERT INTO write_probe SELECT repeat('x', 7000) WHERE pg_relation_size('write_probe') < ${largestProbeBytes};
  RAISE EXCEPTION USING ERRCODE = 'CS002';
EXCEPTION WHEN SQLSTATE 'CS002' THEN NULL;
END $$`;

const readHead = `SELECT id, size::float8 AS size, encode(root, 'hex') AS root, key_id,
    (SELECT key_id FROM signing_keys WHERE purpose = 'attestation' AND status = 'active') AS attestation_key
  FROM logs WHERE closed_at IS NULL`;

interface Row {
  id: number;
  size: number;
  root: string;
  key_id: string;
  attestation_key: string;
}

interface Given {
  database: Pick<Database, "query">;
  keys: Pick<SigningKeys, "signer" | "logSigner" | "reload">;
  guard: ForkGuard;
  lock: HeadLock | null;
  logger: Pick<Logger, "error" | "info">;
}

async function readHeadRow(database: Given["database"]): Promise<Row> {
  const { rows } = await database.query(readHead, []);
  const head = rows[0] as unknown as Row | undefined;
  if (head === undefined) throw new Error("the database has no open log");
  return head;
}

const toSigned = ({ id, size, root }: Row) => ({ logId: id, size, rootHex: root });

async function requireHead({ database, keys, guard, lock }: Given): Promise<void> {
  // Read first: whatever is committed meanwhile is on top of it.
  const kept = guard.current();
  const head = await readHeadRow(database);
  checkHead(kept, toSigned(head));
  await lock?.requireSince(async () => toSigned(await readHeadRow(database)));
  const areAtHand = () => keys.signer.keyId === head.attestation_key && keys.logSigner.keyId === head.key_id;
  if (areAtHand()) return;
  // As an attestation would after a rotation by another process.
  await keys.reload();
  if (!areAtHand()) throw new Error("the active signing keys are not at hand");
}

/** Rejects with what a client may know; the log has the cause, once for each change. */
export function createReadiness(given: Given): () => Promise<void> {
  let wasReady = true;
  const tell = (isReady: boolean, error?: unknown) => {
    if (isReady === wasReady) return;
    wasReady = isReady;
    if (isReady) given.logger.info("attestations can be stored again");
    else given.logger.error({ err: error }, "attestations can't be stored; the health check says 503");
  };
  return async () => {
    try {
      await given.database.query(tryWriting, []);
      await requireHead(given);
      tell(true);
    } catch (cause) {
      tell(false, cause);
      // A load balancer sends no attestation that would be refused here.
      if (cause instanceof ForkGuardError) count("fork guard refused", "");
      const detail = "attestations can't be stored right now; the server's log has the reason";
      throw new AppError("service_unavailable", detail, { cause });
    }
  };
}

/** The embedded database has no autovacuum, and no other process reads the table while it is emptied. */
export async function emptyProbe({ db, kind }: Database): Promise<void> {
  if (kind === "embedded") await db.execute(sql`TRUNCATE ${writeProbe}`);
}
