/** Why the database can't be used, in words: what the start, the commands and the doctor say, and what to do about it. */

import { CannotStart } from "#lib/db/start";
import { openDriver } from "./driver";
import { databaseCode, serverCode } from "./failures";
import { askHost } from "./liveness-probe";

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
  const answer = await askHost(host, port, lookMs);
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

/** For what talks to the database alone. What needs no other words is thrown as it is. */
export async function throwExplained(error: unknown, url: string, variable?: string): Promise<never> {
  const found = error instanceof CannotStart ? null : await explainDatabase(error, url, variable);
  throw found === null ? error : new CannotStart(found, error);
}

/** For the rest of the start, which talks to others too: only what the server itself has refused. */
export async function throwRefused(error: unknown, url: string | undefined): Promise<never> {
  if (url === undefined || serverCode(error) === null) throw error;
  return throwExplained(error, url);
}
