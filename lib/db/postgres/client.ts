/**
 * PostgreSQL, reached directly or through a pooler that gives each transaction a server connection of its own
 * (PgBouncer's transaction mode and its like). Behind such a pooler nothing that belongs to a session holds: settings
 * come with each transaction, statements have no names, and LISTEN needs an address of the server's own.
 */

import { drizzle } from "drizzle-orm/postgres-js";
import type postgres from "postgres";
import type { Database, Listen, Statement, StatementUse } from "#lib/db/client";
import * as schema from "#lib/db/schema";
import { shareConnection, withBatchedReads } from "./batched-reads";
import {
  detectPooler,
  isPooler,
  migrate,
  onOneConnection,
  openDriver,
  requireCommits,
  throwExplained,
} from "./first-connection";
import { watchHost } from "./liveness-probe";
import {
  inLimits,
  limitsAndPlans,
  limitTransactions,
  overdueMs,
  planSettings,
  sessionSettings,
  statementTimeoutMs,
} from "./time-limits";

/*
 * Named statements (PostgreSQL's extended query protocol): the server parses a text once per connection and may keep
 * its plan, and the driver sends it in one round trip. Unnamed, as drizzle sends them, each costs two: the driver waits
 * for the description before it binds.
 */

type Scope = Pick<postgres.Sql, "unsafe"> & Partial<Pick<postgres.TransactionSql, "savepoint">>;
type Work = (scope: Scope) => unknown;

/** The service sends few texts, again and again; lists of every length are many, and stay unnamed. */
const maxNamed = 500;

/** True for the first texts that come, and for those again. Several statements in one text cannot have a name. */
export function createNaming(limit = maxNamed): (text: string) => boolean {
  const named = new Set<string>();
  return (text) => {
    if (named.has(text)) return true;
    if (named.size >= limit || text.includes(";")) return false;
    named.add(text);
    return true;
  };
}

function nameStatements<Client extends object>(client: Client, isNamed: (text: string) => boolean): Client {
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== "function") return member;
      if (name === "unsafe")
        return (text: string, values?: unknown[], options?: object) =>
          member.call(
            target,
            text,
            values,
            isNamed(text) ? { ...options, prepare: true, simple: false } : options,
          );
      if (name === "begin" || name === "beginPipelined" || name === "savepoint")
        return (...given: unknown[]) => {
          const work = given.at(-1) as Work;
          return member.call(target, ...given.slice(0, -1), (scope: Scope) =>
            work(nameStatements(scope, isNamed)),
          );
        };
      return member;
    },
  });
}

/** `begin` with its first statements (.ci/patches, 008). */
const beginPipelined = <Client extends object>(client: Client): Client =>
  new Proxy(client, {
    get: (target, name, receiver) =>
      Reflect.get(target, name === "begin" ? "beginPipelined" : name, receiver),
  });

interface Addresses {
  url: string;
  listenUrl: string | undefined;
}

/** Connections of each process. PostgreSQL has a hundred by default, for all. */
function countConnections(isAlone: boolean) {
  return { ...(isAlone ? { general: 10, plain: 4 } : { general: 5, plain: 3 }), others: 3 };
}

type Connections = ReturnType<typeof countConnections>;

const connectionOptions = {
  onnotice: () => {},
  connect_timeout: 5,
  idle_timeout: 300,
  connection: { application_name: "countersign" },
} satisfies postgres.Options<Record<string, never>>;

/** Counts and log indexes, which are safe integers. */
const bigintAsNumber = { to: 20, from: [20], serialize: String, parse: Number };

/** The server says which types it takes, not the driver's guess: it takes a list of bytes for bytes. */
const untyped = (client: postgres.Sql, parameters: unknown[]) =>
  parameters.map((value) => client.typed(value as never, 0));

/** The driver would send what has no parameters as a text, which is planned every time. */
const prepared = { prepare: true, simple: false } as postgres.UnsafeQueryOptions;

/** The driver listens on a connection of its own, which it opens again when it is lost. */
const listenWith =
  (client: postgres.Sql): Listen =>
  async (channel, onPayload, onListening) => {
    await client.listen(channel, onPayload, onListening);
  };

export interface Opening {
  open<Types extends Record<string, postgres.PostgresType>>(options: postgres.Options<Types>): postgres.Sql;
  wasReachableSince: Database["wasReachableSince"];
  stop(): void | Promise<void>;
}

function createOpening(url: string): Opening {
  const watch = watchHost({
    silentMs: 2_000,
    answerMs: 3_000,
    longestMs: statementTimeoutMs + 5_000,
    overdueMs,
  });
  const { socket, backoff } = watch;
  // The type says that an option without a type is none of the driver's.
  const own = { socket, backoff } as object;
  return {
    open: (options) => watch.follow(openDriver(url, { ...options, ...own })),
    wasReachableSince: watch.wasReachableSince,
    stop: watch.close,
  };
}

/** drizzle changes the serializers of the client it is given, so plain statements have one of their own. */
export function openClients(
  kind: Database["kind"],
  { open, wasReachableSince, stop }: Opening,
  connections: Connections,
): Database {
  const options = {
    ...connectionOptions,
    connection: { ...connectionOptions.connection, ...sessionSettings },
  };
  const client = open({ ...options, max: connections.general });
  const plain = open({ ...options, max: connections.plain });
  const hot = {
    ...options,
    connection: { ...options.connection, ...planSettings },
    types: { bigint: bigintAsNumber },
  };
  const clients = {
    read: open({ ...hot, max: 1 }),
    others: open({ ...hot, max: connections.others }),
    write: open({ ...hot, max: 1 }),
  };
  const reading = shareConnection(clients.read, clients.others);
  const named = nameStatements(client, createNaming());
  return withBatchedReads({
    kind,
    isPooled: false,
    wasReachableSince,
    db: drizzle(named, { schema }),
    pipelined: drizzle(beginPipelined(named)),
    statement:
      <Row extends object>(text: string, use: StatementUse = "read"): Statement<Row> =>
      (...parameters) => {
        const ask = (on: postgres.Sql): Promise<Row[]> =>
          on.unsafe<Row[]>(text, untyped(plain, parameters), prepared);
        return use === "write" ? ask(clients.write) : reading.run(ask);
      },
    query: async (text, values) => ({
      rows: await plain.unsafe(text, values as never[], { prepare: values.length > 0 }),
    }),
    listen: listenWith(plain),
    close: async () => {
      const all = [client, plain, ...Object.values(clients)];
      await Promise.all(all.map((one) => one.end({ timeout: 5 })));
      await stop();
    },
  });
}

function openThroughPooler({ url, listenUrl }: Addresses, connections: Connections): Database {
  const options = { ...connectionOptions, prepare: false };
  const { open, wasReachableSince, stop } = createOpening(url);
  const client = open({ ...options, max: connections.general });
  const plain = open({ ...options, max: connections.plain, types: { bigint: bigintAsNumber } });
  const listener = listenUrl === undefined ? null : openDriver(listenUrl, connectionOptions);
  const db = drizzle(limitTransactions(client), { schema });
  return withBatchedReads({
    kind: "postgres",
    isPooled: true,
    wasReachableSince,
    db,
    pipelined: db,
    statement:
      <Row extends object>(text: string, use: StatementUse = "read"): Statement<Row> =>
      (...parameters) => {
        const ask = async (tx: postgres.TransactionSql) => tx.unsafe(text, untyped(plain, parameters));
        const asked = use === "write" ? inLimits(plain, ask, "", limitsAndPlans) : inLimits(plain, ask);
        return asked as Promise<Row[]>;
      },
    query: async (text, values) => {
      const rows = await inLimits(plain, async (tx) => tx.unsafe(text, values as never[]));
      return { rows: rows as Record<string, unknown>[] };
    },
    listen: listener && listenWith(listener),
    close: async () => {
      const all = [client, plain, ...(listener ? [listener] : [])];
      await Promise.all(all.map((one) => one.end({ timeout: 5 })));
      await stop();
    },
  });
}

const openKnown = (addresses: Addresses, isPooled: boolean, connections: Connections) =>
  isPooled
    ? openThroughPooler(addresses, connections)
    : openClients("postgres", createOpening(addresses.url), connections);

/** Changes nothing: for a look at a database that a service uses. */
export async function openAsItIs(url: string, listenUrl?: string): Promise<Database> {
  const isPooled = await onOneConnection(url, (client) => detectPooler(client, listenUrl));
  return openKnown({ url, listenUrl }, isPooled, { general: 1, plain: 1, others: 1 });
}

/** A standby's: it takes no migration and no write, and its address must be the server's own. */
export async function openReplicaDatabase(url: string): Promise<Database> {
  if (await onOneConnection(url, isPooler))
    throw new Error("DATABASE_REPLICA_URL leads to a connection pooler");
  return openClients("postgres", createOpening(url), countConnections(false));
}

/** Migrates first. Rejects with a message for the operator if the database can't be used. */
export async function openPostgres(
  addresses: Addresses,
  migrationsFolder: string,
  isAlone: boolean,
): Promise<Database> {
  const { url, listenUrl } = addresses;
  const isPooled = await onOneConnection(url, async (client) => {
    const found = await detectPooler(client, listenUrl);
    await migrate(client, url, migrationsFolder);
    await requireCommits(client, url);
    return found;
  }).catch((error: unknown) => throwExplained(error, url));
  return openKnown(addresses, isPooled, countConnections(isAlone));
}
