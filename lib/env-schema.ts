/** Settings one by one (.env.example): allowed values and default. env.ts reads them together. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { isLoopbackUrl, parseStoreAddress, plainAddress } from "#lib/protocol/text/host";
import { parseWitnessPolicy } from "#lib/protocol/tlog/witness-policy";
import { findAddressProblem } from "./database-address";

function wholeNumber(least: number, most: number) {
  const says = `must be a whole number from ${least} to ${most}`;
  const isWithin = (value: number) => Number.isInteger(value) && value >= least && value <= most;
  return z.coerce.number(says).refine(isWithin, says);
}

const most = 10_000_000;
const limit = (value: number) => wholeNumber(1, most).default(value);
/** Limit for all keys of an organization together; unset: `keysWorth` times the limit of one key. */
const ceiling = wholeNumber(1, most).optional();
const keysWorth = 5;

const limitSettings = {
  LIMIT_ATTEST_PER_MINUTE: limit(100),
  LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE: ceiling,
  LIMIT_ATTEST_PER_DAY: wholeNumber(1, most).optional(),
  LIMIT_VERIFY_PER_MINUTE: limit(1000),
  LIMIT_FEED_PER_MINUTE: limit(100),
  LIMIT_AUTHORIZE_PER_MINUTE: limit(60),
  LIMIT_AUTHORIZE_PER_ORGANIZATION_PER_MINUTE: ceiling,
  LIMIT_AUTHORIZE_PENDING: limit(50),
  LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: ceiling,
  LIMIT_READ_AUTHORIZATION_PER_MINUTE: limit(1200),
  LIMIT_APPROVE_PER_MINUTE: limit(120),
  LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR: limit(5),
  LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: limit(20),
  LIMIT_PUBLIC_READ_PER_MINUTE: limit(1000),
  LIMIT_KEYED_PER_MINUTE: limit(1000),
  LIMIT_KEYED_PER_ORGANIZATION_PER_MINUTE: ceiling,
  LIMIT_KEYS_PER_ORGANIZATION: limit(50),
  LIMIT_KEY_CHANGES_PER_DAY: limit(20),
  LIMIT_DEMO_PER_IP_PER_HOUR: limit(10),
  LIMIT_NOTICES_PER_ADDRESS_PER_HOUR: limit(20),
  LIMIT_NOTICES_PER_ORGANIZATION_PER_HOUR: limit(200),
  LIMIT_UNKNOWN_KEY_PER_MINUTE: limit(60),
};

type Limits = z.infer<z.ZodObject<typeof limitSettings>>;

const ceilings = {
  LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE: "LIMIT_ATTEST_PER_MINUTE",
  LIMIT_AUTHORIZE_PER_ORGANIZATION_PER_MINUTE: "LIMIT_AUTHORIZE_PER_MINUTE",
  LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: "LIMIT_AUTHORIZE_PENDING",
  LIMIT_KEYED_PER_ORGANIZATION_PER_MINUTE: "LIMIT_KEYED_PER_MINUTE",
} as const;
export type Ceilings = Record<keyof typeof ceilings, number>;

export function fillCeilings(settings: Limits): Ceilings {
  const filled = Object.entries(ceilings).map(([name, perKey]) => [
    name,
    settings[name as keyof Ceilings] ?? keysWorth * settings[perKey],
  ]);
  return Object.fromEntries(filled) as Ceilings;
}

const text = z.string().trim().min(1).optional();

function address(...schemes: [string, string]) {
  const error = `must be an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`;
  const protocol = new RegExp(`^(${schemes.join("|")})$`);
  // Requires the slashes: without them it is still a URL, of no host.
  return z.url({ protocol, error, abort: true }).refine((url) => url.includes("://"), error);
}

/** The clients of PostgreSQL and Redis decode them, and their error names no setting. */
function hasReadablePassword(url: string): boolean {
  try {
    const { username, password } = new URL(url);
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch (error) {
    return !(error instanceof URIError);
  }
}

const clientAddress = (...schemes: [string, string]) =>
  address(...schemes).refine(hasReadablePassword, "must have a % in its user name and password as %25");

const databaseAddress = () =>
  clientAddress("postgres", "postgresql").superRefine((url, context) => {
    const message = findAddressProblem(url);
    if (message !== null) context.addIssue({ code: "custom", message });
  });

/** `fetch` sends nothing there, and its error repeats the password. */
function hasPassword(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username + password !== "";
}

const withoutPassword = "must have no user name and password";
const fetchedAddress = () => address("http", "https").refine((url) => !hasPassword(url), withoutPassword);

const oneOf = <const Words extends readonly string[]>(...words: Words) =>
  z.enum(words, `must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`);

/** Paths are appended to it, and it goes into every link. What is no address at all is refused as that. */
function isBareAddress(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === "";
}

const secp256k1Order = 0xffffffff_ffffffff_ffffffff_fffffffe_baaedce6_af48a03b_bfd25e8c_d0364141n;

/** A placeholder of zeros would let the service start and fail at each approval. */
function isSecp256k1Key(text: string): boolean {
  const [, hex] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text) ?? [];
  if (hex === undefined) return false;
  const key = BigInt(`0x${hex}`);
  return key > 0n && key < secp256k1Order;
}

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Addresses and networks, separated by commas or white space. */
function parseNetworks(text: string): Network[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  return parts.map((part) => {
    // `10/8` would be the network of 0.0.0.10.
    if (isIP(part.split("/")[0] ?? "") === 0) throw new Error("not an address");
    if (part.includes("/")) return ipaddr.parseCIDR(part);
    const address = ipaddr.process(part);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  });
}

/** Domain in the form in which addresses are compared: in lower case, in the letters of DNS. Null without one. */
function readDomain(text: string): string | null {
  const url =
    /[\s/?#:@\\%[\]]/.test(text) || !URL.canParse(`http://${text}`) ? null : new URL(`http://${text}`);
  return url !== null && /^(?:[a-z0-9-]+\.)+[a-z0-9-]*[a-z][a-z0-9-]*$/.test(url.hostname)
    ? url.hostname
    : null;
}

/** A host by itself, as URLs have it. Null for what is none. */
function readHost(text: string): string | null {
  const url = /^\[?[\w.:-]+\]?$/.test(text) ? `https://${isIP(text) === 6 ? `[${text}]` : text}/` : "";
  if (!URL.canParse(url)) return null;
  const { hostname, port } = new URL(url);
  return port === "" && !text.endsWith(":443") ? hostname.replace(/^\[(.*)\]$/, "$1") : null;
}

/** TLS alone says who answers. The address is compared as text, so none of it is repaired. */
function isSafeIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, search, hash } = new URL(text);
  return (protocol === "https:" || isLoopbackUrl(text)) && search + hash === "";
}

export const settingsSchema = z.object({
  PORT: wholeNumber(1, 65_535).default(3000),
  HOST: z
    .string()
    .refine((host) => host === "localhost" || isIP(host) !== 0, "must be an IP address or localhost")
    .optional(),
  PUBLIC_BASE_URL: address("http", "https")
    .refine(isBareAddress, "must be scheme, host and port (and a path) alone")
    .transform(plainAddress)
    .optional(),
  DATABASE_URL: databaseAddress().optional(),
  DATABASE_LISTEN_URL: databaseAddress().optional(),
  DATABASE_REPLICA_URL: databaseAddress().optional(),
  DATA_DIR: z.string().min(1).default("./data"),
  STOP_DELAY_SECONDS: wholeNumber(0, 300).default(0),
  PROCESSES: wholeNumber(1, 64).optional(),
  REDIS_URL: clientAddress("redis", "rediss").optional(),
  AUTH_SECRET: z.string().min(32, "must be at least 32 characters").optional(),
  SIGNING_KEY: text,
  LOG_SIGNING_KEY: text,
  ZK_SIGNING_KEY: text,
  KEY_WRAPPING_KEY: z
    .string()
    .regex(
      /^(aws-kms:arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:(key|alias)\/[\w/-]+|google-kms:projects\/[\w.:/-]+\/cryptoKeys\/[\w-]+)$/,
      "must be aws-kms: and a key's ARN, or google-kms: and a key's name (projects/…/cryptoKeys/…)",
    )
    .optional(),
  GOOGLE_KMS_URL: fetchedAddress().default("https://cloudkms.googleapis.com"),
  LOG_ORIGIN: z
    .string()
    .regex(/^[^\s+]{1,200}$/, "must be one word without white space or '+'")
    .optional(),
  LOG_LIST: text,
  LOG_STORE: text.refine(
    (value) => value === undefined || parseStoreAddress(value) !== null,
    "must be s3://bucket/prefix or file:/path",
  ),
  LOG_STORE_ENDPOINT: fetchedAddress().optional(),
  LOG_STORE_SECONDS: wholeNumber(1, 3_600).default(10),
  LOG_TILES_URL: address("http", "https")
    .refine(isBareAddress, "must be scheme, host and path alone")
    .transform(plainAddress)
    .optional(),
  WITNESSES: text.transform((value, context) => {
    try {
      // Checked before parsing, whose error message would repeat the password.
      if (value?.split(/[\s;]+/).some(hasPassword)) throw new Error(`addresses ${withoutPassword}`);
      return value === undefined ? undefined : parseWitnessPolicy(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: error instanceof Error ? error.message : "is malformed" });
      return z.NEVER;
    }
  }),
  WITNESS_INTERVAL_SECONDS: wholeNumber(0, 3_600).default(60),
  POST_QUANTUM: oneOf("on", "off").default("on"),
  NOT_BEFORE_MAX_AGE_SECONDS: wholeNumber(10, 86_400).default(600),
  TSA_URLS: text.transform((value, context) => {
    const urls = value?.split(/[\s,]+/).filter((url) => url !== "") ?? [];
    const wrong = urls.find((url) => !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol));
    const isSecret = urls.some(hasPassword);
    if (wrong === undefined && !isSecret) return urls;
    const message = isSecret ? `addresses ${withoutPassword}` : `${wrong} is not an http address`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }),
  TSA_CERTIFICATES: text,
  DRAND_URL: fetchedAddress().optional(),
  RESEND_API_KEY: text,
  RESEND_BASE_URL: fetchedAddress().optional(),
  SMTP_URL: address("smtp", "smtps").optional(),
  MAIL_FROM: text.refine(
    (value) => value === undefined || /^([^<>]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/.test(value),
    "must be an email address, or a name and an address in angle brackets",
  ),
  DEFAULT_VISIBILITY: oneOf("private", "public").default("public"),
  SIGN_UP: oneOf("open", "invited", "domains").default("open"),
  SIGN_UP_DOMAINS: text.transform((value, context) => {
    const names = value?.split(/[\s,]+/).filter((name) => name !== "") ?? [];
    const domains = names.map(readDomain);
    const wrong = domains.indexOf(null);
    if (wrong < 0) return domains as string[];
    context.addIssue({ code: "custom", message: `${names[wrong]} is not a domain, such as example.com` });
    return z.NEVER;
  }),
  OIDC_ISSUER: fetchedAddress()
    .refine(isSafeIssuer, "must be an https address without ? and #, or one of this machine")
    .refine((text) => !text.includes("/.well-known/"), "must end before /.well-known/openid-configuration")
    .optional(),
  OIDC_CLIENT_ID: text,
  OIDC_CLIENT_SECRET: text,
  OIDC_SCOPE: z
    .string()
    .regex(/^openid(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/, "must be scopes separated by spaces, openid first")
    .default("openid email"),
  OIDC_GROUPS_CLAIM: text,
  OIDC_ENFORCED: oneOf("on", "off").default("off"),
  APPROVALS: oneOf("world-id", "passkeys").default("world-id"),
  WORLD_APP_ID: z
    .string()
    .regex(/^app_[a-z0-9_]+$/, "must look like app_…")
    .optional(),
  WORLD_RP_ID: z
    .string()
    .regex(/^rp_[a-z0-9_]+$/, "must look like rp_…")
    .optional(),
  WORLD_RP_SIGNING_KEY: z
    .string()
    .refine(isSecp256k1Key, "must be 32 bytes in hex, a private key of secp256k1")
    .optional(),
  WORLD_ENVIRONMENT: oneOf("production", "staging").default("production"),
  WORLD_PORTAL_URL: fetchedAddress().default("https://developer.world.org"),
  WORLD_ID_V4_VERIFYING_KEY: text,
  WORLD_CHAIN_RPC_URL: fetchedAddress().optional(),
  AUDIT_LOG_DAYS: wholeNumber(30, 36_500).optional(),
  WEBHOOK_ALLOWED_HOSTS: text.transform((value, context) => {
    const names = value?.split(/[\s,]+/).filter((name) => name !== "") ?? [];
    const hosts = names.map(readHost);
    const wrong = hosts.indexOf(null);
    if (wrong < 0) return hosts as string[];
    const message = `${names[wrong]} is not a host, such as hooks.internal or 10.0.0.7`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }),
  REQUEST_LOG_DAYS: wholeNumber(1, 90).default(7),
  REQUEST_LOG_PER_DAY: wholeNumber(1_000, 10_000_000).default(100_000),
  EXAMPLE_ATTESTATION: z.uuid("must be the id of an attestation").optional(),
  DEMO: oneOf("on", "off").optional(),
  TRUSTED_PROXY_HOPS: wholeNumber(0, 10).default(0),
  TRUSTED_PROXIES: text.transform((value, context) => {
    try {
      return value === undefined ? undefined : parseNetworks(value);
    } catch {
      context.addIssue({ code: "custom", message: "must be IP addresses and networks, such as 10.0.0.0/8" });
      return z.NEVER;
    }
  }),
  ...limitSettings,
  METRICS_PORT: wholeNumber(1, 65_535).optional(),
  METRICS_HOST: z
    .string()
    .refine((host) => isIP(host) !== 0, "must be an IP address")
    .default("127.0.0.1"),
  OTEL_EXPORTER_OTLP_ENDPOINT: address("http", "https").optional(),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: address("http", "https").optional(),
  OTEL_SERVICE_NAME: z.string().min(1).default("countersign"),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number("must be a number from 0 to 1")
    .refine((share) => share >= 0 && share <= 1, "must be a number from 0 to 1")
    .default(1),
  LOG_LEVEL: oneOf("silent", "error", "warn", "info", "debug").default("info"),
});

export type Settings = z.infer<typeof settingsSchema>;
