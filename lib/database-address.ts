/**
 * Addresses of PostgreSQL as operators write them, with the parameters of its own client library, libpq, of version 18
 * (https://www.postgresql.org/docs/18/libpq-connect.html#LIBPQ-PARAMKEYWORDS). The driver takes a few of them and sends the
 * others to the server, which refuses them. So each is used here, dropped because nothing depends on it, or refused with
 * what to do: a demand for security that can't be met must not be passed over.
 */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";

type Rule =
  | "used"
  | "dropped"
  | { mend: string }
  /** Dropped with these values, refused with any other. */
  | { harmless: readonly string[]; mend: string };

const files = "Write the values into the address.";
const noGss = "GSSAPI isn't supported: sign in by password or certificate.";
const noOauth = "OAuth isn't supported: sign in by password or certificate.";
const oneProtocol = "The client speaks version 3.0 of the protocol alone: remove it.";
const off = ["0", "false", "off", "no"];

export const databaseParameters: Readonly<Record<string, Rule>> = {
  host: "used",
  hostaddr: { mend: "Write the IP address in the place of the host." },
  port: "used",
  dbname: "used",
  user: "used",
  password: "used",
  passfile: { mend: files },
  service: { mend: files },
  servicefile: { mend: files },
  application_name: "used",
  fallback_application_name: "dropped",
  options: "used",
  client_encoding: { harmless: ["auto", "UTF8", "utf8", "UTF-8", "utf-8"], mend: "Remove it: it is UTF8." },
  target_session_attrs: "used",
  // The service has time limits, and watches its connections, by itself.
  connect_timeout: "dropped",
  keepalives: "dropped",
  keepalives_idle: "dropped",
  keepalives_interval: "dropped",
  keepalives_count: "dropped",
  tcp_user_timeout: "dropped",
  load_balance_hosts: "dropped",
  replication: { harmless: off, mend: "Remove it." },
  require_auth: { mend: "The client can't insist on a method: demand it in the server's pg_hba.conf." },
  channel_binding: {
    harmless: ["disable", "prefer"],
    mend: "The client has no channel binding: remove it, and set sslmode=verify-full, which keeps others from coming in between too.",
  },
  scram_client_key: { mend: "Use the password." },
  scram_server_key: { mend: "Use the password." },
  min_protocol_version: { harmless: ["3.0"], mend: oneProtocol },
  max_protocol_version: "dropped",
  requirepeer: { mend: "The client can't check who owns a socket: close its folder to others." },
  gssencmode: { harmless: ["disable", "prefer"], mend: noGss },
  krbsrvname: "dropped",
  gsslib: "dropped",
  gssdelegation: { harmless: off, mend: noGss },
  oauth_issuer: { mend: noOauth },
  oauth_client_id: { mend: noOauth },
  oauth_client_secret: { mend: noOauth },
  oauth_scope: { mend: noOauth },
  ssl: { harmless: [...off, "true"], mend: "Use sslmode." },
  requiressl: { harmless: off, mend: "Use sslmode=require." },
  sslmode: "used",
  sslnegotiation: "used",
  sslrootcert: "used",
  sslcert: "used",
  sslkey: "used",
  sslpassword: "used",
  sslcrl: "used",
  sslcrldir: { mend: "Put the lists into one file, and name it by sslcrl." },
  sslcertmode: {
    harmless: ["allow"],
    mend: "Remove it: the certificate of sslcert is sent if there is one.",
  },
  sslcompression: "dropped",
  sslsni: { harmless: ["1"], mend: "Remove it: the host's name is sent." },
  sslkeylogfile: { mend: "Remove it: keys of connections are written nowhere." },
  ssl_min_protocol_version: "used",
  ssl_max_protocol_version: "used",
};

const choices: Readonly<Record<string, readonly string[]>> = {
  sslmode: ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"],
  sslnegotiation: ["postgres", "direct"],
  target_session_attrs: ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"],
  ssl_min_protocol_version: ["TLSv1.2", "TLSv1.3"],
  ssl_max_protocol_version: ["TLSv1.2", "TLSv1.3"],
};

class Unusable extends Error {}

interface AddressOptions {
  host?: string;
  port?: number;
  database?: string;
  username?: string;
  password?: string;
  ssl?: false | "allow" | "prefer" | "require" | ConnectionOptions;
  sslnegotiation?: string;
  target_session_attrs?: string;
  connection?: Record<string, string>;
}

type Given = ReadonlyMap<string, string>;

function requireKnown(name: string, value: string): void {
  const rule = databaseParameters[name];
  const choice = choices[name];
  if (choice !== undefined && !choice.includes(value))
    throw new Unusable(`its parameter ${name} must be ${choice.slice(0, -1).join(", ")} or ${choice.at(-1)}`);
  if (typeof rule !== "object" || ("harmless" in rule && rule.harmless.includes(value))) return;
  throw new Unusable(`its parameter ${name} can't be kept. ${rule.mend}`);
}

function readPart(given: Given, name: string): string | undefined {
  const file = given.get(name);
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Unusable(
      `the file of its parameter ${name} can't be read (${(error as { code?: string }).code})`,
    );
  }
}

function readMode(given: Given): string | undefined {
  const root = given.get("sslrootcert");
  const mode = given.get("sslmode") ?? (given.get("ssl") === "true" ? "require" : undefined);
  if (root === "system") {
    if (mode === undefined || mode === "verify-full") return "verify-full";
    throw new Unusable("its parameter sslrootcert=system needs sslmode=verify-full");
  }
  if (root === undefined) return mode === "verify-ca" ? "verify-full" : mode;
  if (mode === "require") return "verify-ca";
  if (mode === "verify-ca" || mode === "verify-full") return mode;
  throw new Unusable("its parameter sslrootcert checks nothing without sslmode=verify-full");
}

const defined = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: Exclude<Fields[Name], undefined>;
  };

/** Reads TLS settings like libpq: `require` checks the certificate's authority only if one is given. */
function readTls(given: Given, host: string): AddressOptions["ssl"] {
  const mode = readMode(given);
  const own = defined({
    ca: given.get("sslrootcert") === "system" ? undefined : readPart(given, "sslrootcert"),
    cert: readPart(given, "sslcert"),
    key: readPart(given, "sslkey"),
    passphrase: given.get("sslpassword"),
    crl: readPart(given, "sslcrl"),
    minVersion: given.get("ssl_min_protocol_version"),
    maxVersion: given.get("ssl_max_protocol_version"),
  }) as ConnectionOptions;
  if ((own.cert === undefined) !== (own.key === undefined))
    throw new Unusable("its parameters sslcert and sslkey need each other");
  const isPlain = Object.keys(own).length === 0;
  if (mode === undefined || mode === "disable") {
    if (!isPlain)
      throw new Unusable("its parameters of TLS need sslmode=verify-full, or another that encrypts");
    return mode === undefined ? undefined : false;
  }
  // Node would compare the certificate with "localhost".
  if (mode === "verify-full") return isIP(host) === 0 ? own : { ...own, host };
  if (mode === "verify-ca") return { ...own, checkServerIdentity: () => undefined };
  if (isPlain) return mode as "allow" | "prefer" | "require";
  return { ...own, rejectUnauthorized: false };
}

/** A socket's folder is written as a parameter, or with its slashes as %2F. */
const readHost = (url: URL, given: Given) => given.get("host") ?? decodeURIComponent(url.hostname);

function readOptions(url: URL, given: Given): AddressOptions {
  const host = readHost(url, given);
  const session = given.get("target_session_attrs");
  const negotiation = given.get("sslnegotiation");
  const connection = defined({
    application_name: given.get("application_name"),
    options: given.get("options"),
  }) as Record<string, string>;
  const port = given.get("port");
  if (port !== undefined && !/^\d{1,5}(,\d{1,5})*$/.test(port))
    throw new Unusable("its parameter port must be a port");
  return defined({
    host: given.has("host") || host.startsWith("/") ? host : undefined,
    port: port === undefined ? undefined : Number(port.split(",")[0]),
    database: given.get("dbname"),
    username: given.get("user"),
    password: given.get("password"),
    ssl: readTls(given, host.replace(/^\[(.*)\]$/, "$1")),
    sslnegotiation: negotiation === "direct" ? negotiation : undefined,
    target_session_attrs: session === "any" ? undefined : session,
    connection: Object.keys(connection).length === 0 ? undefined : connection,
  });
}

interface DatabaseAddress {
  /** URL without libpq's parameters; the others are settings of the server, which judges them. */
  url: string;
  options: AddressOptions;
}

/** Throws for an address that {@link findAddressProblem} finds something wrong with. */
export function readDatabaseAddress(text: string): DatabaseAddress {
  const url = new URL(text);
  const given = new Map([...url.searchParams].filter(([name]) => Object.hasOwn(databaseParameters, name)));
  for (const [name, value] of given) requireKnown(name, value);
  const options = readOptions(url, given);
  for (const name of given.keys()) url.searchParams.delete(name);
  if (readHost(url, given).startsWith("/")) url.hostname = "localhost";
  return { url: url.href, options };
}

export function findAddressProblem(text: string): string | null {
  try {
    readDatabaseAddress(text);
    return null;
  } catch (error) {
    if (error instanceof Unusable) return error.message;
    throw error;
  }
}
