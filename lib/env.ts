/**
 * The settings (.env.example), read once at start. Messages about wrong values name the variable.
 * The local World ID stand-in and the development mailbox run only if nothing else is configured and the public
 * address is loopback.
 */
import { isIP } from "node:net";
import { availableParallelism } from "node:os";
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { isIpAddress, isLoopbackUrl } from "#lib/domain/host";
import { parseWitnessPolicy } from "#lib/domain/witness-policy";
import { type Ceilings, fillCeilings, limitSettings } from "./env-limits";

const text = z.string().trim().min(1).optional();

/** Paths are appended to it, and it goes into every link. */
function isBareAddress(text: string): boolean {
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === "";
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

const schema = z.object({
  PORT: z.coerce.number().int().min(1).max(65_535).default(3000),
  HOST: z
    .string()
    .refine((host) => host === "localhost" || isIP(host) !== 0, "must be an IP address or localhost")
    .optional(),
  PUBLIC_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .refine(isBareAddress, "must be scheme, host and port (and a path) alone")
    .optional(),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  DATABASE_LISTEN_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  DATABASE_REPLICA_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  DATA_DIR: z.string().min(1).default("./data"),
  STOP_DELAY_SECONDS: z.coerce.number().int().min(0).max(300).default(0),
  PROCESSES: z.coerce.number().int().min(1).max(64).optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).optional(),
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
  GOOGLE_KMS_URL: z.url({ protocol: /^https?$/ }).default("https://cloudkms.googleapis.com"),
  LOG_ORIGIN: z
    .string()
    .regex(/^[^\s+]{1,200}$/, "must be one word without white space or '+'")
    .optional(),
  LOG_LIST: text,
  LOG_TILES_URL: z
    .url({ protocol: /^https?$/ })
    .refine(isBareAddress, "must be scheme, host and path alone")
    .optional(),
  WITNESSES: text.transform((value, context) => {
    try {
      return value === undefined ? undefined : parseWitnessPolicy(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: error instanceof Error ? error.message : "is malformed" });
      return z.NEVER;
    }
  }),
  WITNESS_INTERVAL_SECONDS: z.coerce.number().int().min(0).max(3_600).default(60),
  NOT_BEFORE_MAX_AGE_SECONDS: z.coerce.number().int().min(10).max(86_400).default(600),
  TSA_URLS: text.transform((value, context) => {
    const urls = value?.split(/[\s,]+/).filter((url) => url !== "") ?? [];
    const wrong = urls.find((url) => !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol));
    if (wrong === undefined) return urls;
    context.addIssue({ code: "custom", message: `${wrong} is not an http address` });
    return z.NEVER;
  }),
  TSA_CERTIFICATES: text,
  DRAND_URL: z.url({ protocol: /^https?$/ }).optional(),
  RESEND_API_KEY: text,
  RESEND_BASE_URL: z.url().optional(),
  SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  MAIL_FROM: text,
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
    .regex(/^(0x)?[0-9a-fA-F]{64}$/, "must be 32 bytes in hex")
    .optional(),
  WORLD_ENVIRONMENT: z.enum(["production", "staging"]).default("production"),
  WORLD_PORTAL_URL: z.url().default("https://developer.world.org"),
  WORLD_ID_V4_VERIFYING_KEY: text,
  WORLD_CHAIN_RPC_URL: z.url().optional(),
  REQUEST_LOG_DAYS: z.coerce.number().int().min(1).max(90).default(7),
  REQUEST_LOG_PER_DAY: z.coerce.number().int().min(1_000).max(10_000_000).default(100_000),
  EXAMPLE_ATTESTATION: z.uuid().optional(),
  DEMO: z.enum(["on", "off"]).optional(),
  TRUSTED_PROXY_HOPS: z.coerce.number().int().min(0).max(10).default(0),
  TRUSTED_PROXIES: text.transform((value, context) => {
    try {
      return value === undefined ? undefined : parseNetworks(value);
    } catch {
      context.addIssue({ code: "custom", message: "must be IP addresses and networks, such as 10.0.0.0/8" });
      return z.NEVER;
    }
  }),
  ...limitSettings,
  METRICS_PORT: z.coerce.number().int().min(1).max(65_535).optional(),
  METRICS_HOST: z
    .string()
    .refine((host) => isIP(host) !== 0, "must be an IP address")
    .default("127.0.0.1"),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  OTEL_SERVICE_NAME: z.string().min(1).default("countersign"),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  LOG_LEVEL: z.enum(["silent", "error", "warn", "info", "debug"]).default("info"),
});

type Settings = z.infer<typeof schema>;

export interface Env extends Omit<Settings, keyof Ceilings>, Ceilings {
  /** Without a slash at its end. */
  baseUrl: string;
  isLoopback: boolean;
  worldId: "local" | "portal";
  /** Whether visitors may try an approval: of themselves they are offered tests, not real proofs. */
  isDemoOn: boolean;
  mail: "mailbox" | "smtp" | "resend";
  /** The addresses that the server binds; null: every address of the machine. */
  bindAddresses: readonly string[] | null;
  /** How many processes answer the API; 1: one process does everything. */
  processCount: number;
}

/** Nobody sees the tests' logs; a wrong value is reported by parseEnv, not here. */
export function logLevel(): string {
  return process.env["LOG_LEVEL"] ?? (process.env["VITEST"] ? "silent" : "info");
}

const worldNames = ["WORLD_APP_ID", "WORLD_RP_ID", "WORLD_RP_SIGNING_KEY"] as const;

const usesMailbox = (settings: Settings) =>
  settings.RESEND_API_KEY === undefined && settings.SMTP_URL === undefined;

function missingSettings(settings: Settings, isLoopback: boolean): string[] {
  const world = worldNames.filter((name) => settings[name] === undefined);
  const problems: string[] = [];
  if (world.length > 0 && (world.length < worldNames.length || !isLoopback)) {
    problems.push(`${world.join(", ")}: must be set, so that approvals are real World ID proofs`);
  }
  const hasMail = !usesMailbox(settings);
  if (!hasMail && !isLoopback) problems.push("RESEND_API_KEY or SMTP_URL: must be set, so that mail is sent");
  if (hasMail && settings.MAIL_FROM === undefined)
    problems.push("MAIL_FROM: must be set with RESEND_API_KEY or SMTP_URL");
  if (problems.length > 0 && !isLoopback) {
    problems.push(
      "(PUBLIC_BASE_URL is not a loopback address: the local World ID stand-in and the development mailbox run on loopback only)",
    );
  }
  return problems;
}

/** `localhost` is either of two addresses, as the client's machine likes. */
const loopbackAddresses = ["127.0.0.1", "::1"] as const;

/**
 * While a stand-in runs, anyone who reaches the server can approve as any human or read the codes of any address. So
 * it binds loopback only, and does not start with another HOST.
 */
function bindAddresses(settings: Settings, baseUrl: string): readonly string[] | null {
  const usesStandIn = settings.WORLD_APP_ID === undefined || usesMailbox(settings);
  const { HOST } = settings;
  if (HOST === "localhost") return loopbackAddresses;
  if (HOST === undefined && !usesStandIn) return null;
  if (HOST === undefined) {
    const { hostname } = new URL(baseUrl);
    const own = isIpAddress(hostname) ? [hostname.replace(/^\[(.*)\]$/, "$1")] : [];
    return [...new Set([...loopbackAddresses, ...own])];
  }
  if (usesStandIn && ipaddr.process(HOST).range() !== "loopback") {
    throw new Error(
      `Countersign cannot start, a setting is wrong:\n  HOST: is ${HOST}, which other machines may reach, but the local World ID stand-in or the development mailbox runs: unset HOST, or set World ID and mail`,
    );
  }
  return [HOST];
}

/** The processes' sockets are files; on Windows one process does everything. */
const maxDefault = process.platform === "win32" ? 1 : 4;

function countProcesses({ DATABASE_URL, PROCESSES }: Settings): number {
  if (DATABASE_URL !== undefined) return PROCESSES ?? Math.min(maxDefault, availableParallelism());
  if ((PROCESSES ?? 1) === 1) return 1;
  throw new Error(
    `Countersign cannot start, a setting is wrong:\n  PROCESSES: is ${PROCESSES}, but only one process can use the embedded database: unset PROCESSES, or set DATABASE_URL`,
  );
}

/** Throws an Error whose message has one line for each variable that is wrong. */
export function parseEnv(variables: Record<string, string | undefined>): Env {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
    throw new Error(`Countersign cannot start, these settings are wrong:\n${lines.join("\n")}`);
  }
  const settings = parsed.data;
  const baseUrl = (settings.PUBLIC_BASE_URL ?? `http://localhost:${settings.PORT}`).replace(/\/+$/, "");
  const isLoopback = isLoopbackUrl(baseUrl);
  const problems = missingSettings(settings, isLoopback);
  if (problems.length > 0) {
    throw new Error(
      `Countersign cannot start, settings are missing:\n${problems.map((p) => `  ${p}`).join("\n")}`,
    );
  }
  if (settings.TRUSTED_PROXIES !== undefined && settings.TRUSTED_PROXY_HOPS === 0) {
    throw new Error(
      "Countersign cannot start, a setting is missing:\n  TRUSTED_PROXY_HOPS: must be set with TRUSTED_PROXIES, to how many proxies a request passes",
    );
  }
  if (settings.DATABASE_REPLICA_URL !== undefined && settings.DATABASE_URL === undefined) {
    throw new Error(
      "Countersign cannot start, a setting is missing:\n  DATABASE_URL: must be set with DATABASE_REPLICA_URL, to the primary that it is a standby of",
    );
  }
  if (settings.TSA_URLS.length > 0 && settings.TSA_CERTIFICATES === undefined) {
    throw new Error(
      "Countersign cannot start, a setting is missing:\n  TSA_CERTIFICATES: must be set with TSA_URLS, to a PEM file of the certificates that their time stamps must lead to",
    );
  }
  const worldId = settings.WORLD_APP_ID === undefined ? "local" : "portal";
  const isTest = worldId === "local" || settings.WORLD_ENVIRONMENT === "staging";
  return {
    ...settings,
    ...fillCeilings(settings),
    baseUrl,
    isLoopback,
    worldId,
    isDemoOn: settings.DEMO === undefined ? isTest : settings.DEMO === "on",
    mail: settings.RESEND_API_KEY ? "resend" : settings.SMTP_URL ? "smtp" : "mailbox",
    bindAddresses: bindAddresses(settings, baseUrl),
    processCount: countProcesses(settings),
  };
}

/** Every setting's name with its default as text, empty if there is none; `.env.example` is held against it. */
export function settingDefaults(): Record<string, string> {
  const entries = Object.entries(schema.shape).map(([name, setting]) => {
    const parsed = setting.safeParse(undefined);
    return [name, String(parsed.data ?? "")];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

/** As they are, for who reports what is wrong with them. */
export const readVariables = () => process.env;

export function readEnv(): Env {
  return parseEnv(process.env);
}
