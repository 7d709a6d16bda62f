/**
 * Checks a PostgreSQL before the service's own clients are opened (./client.ts): if a pooler answers for it,
 * if it holds this version's migrations, and if it stores what it acknowledges. The connections are closed again.
 */
import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { bringUpToDate, isCurrent } from "#lib/db/migrations";
import { CannotStart, waitingFor } from "#lib/db/start";
import { inTime } from "#lib/in-time";
import { openDriver } from "./driver";
import { throwExplained } from "./start-failures";

/** Any constant: the key of the advisory lock under which processes migrate and make first keys one by one. */
export const startLockKey = 7_267_140_221;

/** The driver tries again without an end while its connections are closed before they are ready. */
const patienceMs = 7_000;

export async function onOneConnection<T>(
  url: string,
  work: (client: postgres.Sql) => Promise<T>,
): Promise<T> {
  const options = { max: 1, connect_timeout: 5, prepare: false, fetch_types: false, onnotice: () => {} };
  const client = openDriver(url, options);
  try {
    return await work(client);
  } finally {
    await client.end({ timeout: 1 });
  }
}

/**
 * Detects a pooler: it sends process ids of its own making when a connection opens, and the server knows better. One
 * that keeps a server connection for a whole session is taken for the other kind, which is slower and as correct.
 */
export async function isPooler(client: postgres.Sql): Promise<boolean> {
  const answer = client<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const rows = await inTime(answer, patienceMs);
  return rows[0]?.pid !== rows.state.pid;
}

/** Detects a pooler at the client's address. The server behind it, to listen to, must be there then. */
export async function detectPooler(client: postgres.Sql, listenUrl: string | undefined): Promise<boolean> {
  const isPooled = await isPooler(client);
  if (isPooled && listenUrl !== undefined)
    await onOneConnection(listenUrl, isPooler).catch((error) =>
      throwExplained(error, listenUrl, "DATABASE_LISTEN_URL"),
    );
  return isPooled;
}

/**
 * A row that the server acknowledged must be there for another connection. Some poolers answer statements with parameters
 * and never commit them. It is looked for by a statement that no pooler sends to a standby.
 */
export async function requireCommits(client: postgres.Sql, url: string): Promise<void> {
  const name = `start ${randomUUID()}`;
  await client`INSERT INTO leases (name, next_at) VALUES (${name}, now())`;
  const found = await onOneConnection(
    url,
    (other) => other`DELETE FROM leases WHERE name = ${name} RETURNING name`,
  );
  if (found.length === 1) return;
  throw new CannotStart({
    says: "what is written through DATABASE_URL is acknowledged and not stored: another connection doesn't find it",
    mend: "A pooler in between doesn't commit (Pgpool-II in raw mode is one): use the server's own address, or PgBouncer.",
  });
}

/**
 * Applies missing migrations under an advisory lock: drizzle's own run is not safe when processes start at once. The
 * lock belongs to a transaction, which has one server connection through any pooler.
 */
export async function migrate(client: postgres.Sql, url: string, migrationsFolder: string): Promise<void> {
  if (await isCurrent(client, migrationsFolder)) return;
  await onOneConnection(url, (holder) =>
    holder.begin(async (tx) => {
      await waitingFor(
        "another process that is starting on this database",
        tx`SELECT pg_advisory_xact_lock(${startLockKey})`,
      );
      await bringUpToDate(client, migrationsFolder);
    }),
  );
}
