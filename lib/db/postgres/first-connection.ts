/**
 * Checks a PostgreSQL before the service's own clients are opened (./client.ts): if a pooler answers for it,
 * if it holds this version's migrations, and if it stores what it acknowledges. The connections are closed again.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { readDatabaseAddress } from "#lib/database-address";
import { bringUpToDate, CannotStart, isCurrent, logIfSlow } from "#lib/db/migrations";
import { inTime } from "#lib/in-time";
import { databaseCode, serverCode } from "./failures";
import { probeHost } from "./liveness-probe";

/* The driver on an operator's address, with libpq's parameters as it takes them (#lib/database-address.ts). */

export function openDriver<Types extends Record<string, postgres.PostgresType>>(
  address: string,
  options: postgres.Options<Types> = {},
): postgres.Sql {
  const { url, options: own } = readDatabaseAddress(address);
  const connection = { ...options.connection, ...own.connection };
  return postgres(url, { ...options, ...own, connection } as postgres.Options<Types>) as postgres.Sql;
}

/* Reason why the database can't be used, in words: what the start, the commands and the doctor say, and what to do about it. */

export interface Words {
  says: string;
  mend: string;
}

const correct = "Correct DATABASE_URL";
const words = (says: string, mend: string): Words => ({ says, mend });

const other = words(
  "something answers there that isn't PostgreSQL",
  `${correct}: the port may be another program's.`,
);
const closes = words(
  "it closes each connection before it has answered",
  `${correct} if something other than PostgreSQL or its pooler listens there; otherwise read that server's log.`,
);
const silent = words("it doesn't answer", "Check DATABASE_URL, the network, firewalls, and the server.");
const unknownHost = words("no such host is known", `${correct}, or the name server of this machine.`);
const password = words(
  "it refuses this user or password",
  `${correct}, or the rule for this user in pg_hba.conf.`,
);

const untrusted = words(
  "its certificate isn't trusted",
  "Name the file of its authority's certificate by sslrootcert, or in NODE_EXTRA_CA_CERTS, or correct sslmode in DATABASE_URL.",
);

const byCode: Record<string, Words> = {
  ECONNREFUSED: words("nothing listens there", `Start PostgreSQL, or correct the address in DATABASE_URL.`),
  ENOENT: words("there is no such socket", `Start PostgreSQL, or correct the path in DATABASE_URL.`),
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
  EHOSTUNREACH: silent,
  ENETUNREACH: silent,
  ETIMEDOUT: silent,
  CONNECT_TIMEOUT: silent,
  ECONNRESET: closes,
  EPIPE: closes,
  CONNECTION_CLOSED: closes,
  CONNECTION_DESTROYED: closes,
  "28P01": password,
  "28000": password,
  "3D000": words(
    "there is no such database",
    `Create it (createdb NAME), or correct the name in DATABASE_URL.`,
  ),
  "42501": words(
    "this role lacks a right that the service needs",
    "Make the role the owner of the database and its tables (ALTER DATABASE … OWNER TO …), or grant it all rights on them, and CREATE on the database and its schema public.",
  ),
  "22P05": words(
    "its encoding lacks characters that the service writes",
    "Create the database with ENCODING 'UTF8'.",
  ),
  "25006": words(
    "it is read-only, as a standby or by default_transaction_read_only",
    "Give DATABASE_URL the address of the primary server, or make it writable.",
  ),
  "53100": words("its disk is full", "Make space for it."),
  "53300": words(
    "all its connections are in use, or all that this role or database may have",
    "Raise max_connections or that limit, or lower PROCESSES.",
  ),
  "57P03": words("it is starting or stopping", "Start Countersign again when it is up."),
};

const certificate = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT)/;

/** Codes that say only that nothing usable came back: a look at the host says more. */
const vague = new Set(["ETIMEDOUT", "CONNECT_TIMEOUT", "ECONNRESET", "CONNECTION_CLOSED"]);

const parse = (url: string) => {
  // The driver's own reading of the address; it opens nothing before it is asked.
  const { host, port, path } = openDriver(url).options;
  return { host: host[0] ?? "", port: port[0] ?? 0, path };
};

const lookMs = 3_000;

async function look(url: string): Promise<Words | undefined> {
  const { host, port, path } = parse(url);
  if (path) return undefined;
  const answer = await probeHost(host, port, lookMs);
  if (answer === "other") return other;
  return answer === "closed" ? closes : byCode[answer];
}

/** A server or pooler refuses a parameter that isn't libpq's: it may be another client's. */
function explainParameter(error: unknown): Words | undefined {
  const { message = "" } = error as Error;
  const [, name] =
    /unrecognized configuration parameter "([\w.]+)"|unsupported startup parameter: ([\w.]+)/
      .exec(message)
      ?.filter(Boolean) ?? [];
  return name === undefined
    ? undefined
    : words(`it knows no parameter ${name}`, "Remove it from DATABASE_URL.");
}

/** Null if the error isn't about the database. Never says the user or password of the address. */
export async function explainDatabase(
  error: unknown,
  url: string,
  variable = "DATABASE_URL",
): Promise<Words | null> {
  const code = databaseCode(error) ?? "";
  const found = (vague.has(code) ? await look(url) : undefined) ?? explainParameter(error) ?? byCode[code];
  const known = found ?? (certificate.test(code) ? untrusted : null);
  if (known === null) return null;
  const { host, port, path } = parse(url);
  const where = path || `${host}:${port}`;
  return {
    says: `the database of ${variable} at ${where} can't be used: ${known.says} (${code})`,
    mend: known.mend.replaceAll("DATABASE_URL", variable),
  };
}

/** Explains errors of code that talks to the database alone. Others are thrown unchanged. */
export async function throwExplained(error: unknown, url: string, variable?: string): Promise<never> {
  const found = error instanceof CannotStart ? null : await explainDatabase(error, url, variable);
  throw found === null ? error : new CannotStart(found, error);
}

/** Explains errors of the rest of the start, which talks to others too: only refusals by the server itself. */
export async function throwRefused(error: unknown, url: string | undefined): Promise<never> {
  if (url === undefined || serverCode(error) === null) throw error;
  return throwExplained(error, url);
}

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

/** Asks again and again, as a plain text: who builds an index waits for the snapshot of any statement that waits. */
async function lockStart(tx: postgres.TransactionSql): Promise<void> {
  const ask = () => tx.unsafe(`SELECT pg_try_advisory_xact_lock(${startLockKey}) AS is_held`);
  while ((await ask())[0]?.["is_held"] !== true) await sleep(100);
}

/**
 * Applies missing migrations under an advisory lock: drizzle's own run is not safe when processes start at once. The
 * lock belongs to a transaction, which has one server connection through any pooler.
 */
export async function migrate(client: postgres.Sql, url: string, migrationsFolder: string): Promise<void> {
  if (await isCurrent(client, migrationsFolder)) return;
  await onOneConnection(url, (holder) =>
    holder.begin(async (tx) => {
      await logIfSlow("another process that is starting on this database", lockStart(tx));
      await bringUpToDate(client, migrationsFolder);
    }),
  );
}
