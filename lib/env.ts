/**
 * The settings (.env.example), read once at start. Messages about wrong values name the variable.
 * The local World ID stand-in and the development mailbox run only if nothing else is configured and the public
 * address is loopback.
 */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import ipaddr from "ipaddr.js";
import { isIpAddress, isLoopbackUrl, plainAddress } from "#lib/protocol/text/host";
import { type Ceilings, fillCeilings, type Settings, settingsSchema } from "./env-schema";

export interface Env extends Omit<Settings, keyof Ceilings>, Ceilings {
  /** Address without a slash at its end. */
  baseUrl: string;
  isLoopback: boolean;
  /** `none`: passkeys of enrolled approvers alone. */
  worldId: "local" | "portal" | "none";
  /** True if visitors may try an approval. By default they may only where approvals are tests. */
  isDemoOn: boolean;
  mail: "mailbox" | "smtp" | "resend";
  /** The addresses that the server binds; null: every address of the machine. */
  bindAddresses: readonly string[] | null;
  processCount: number;
}

/** Tests hide their logs; a wrong value is reported by parseEnv, not here. */
export function logLevel(): string {
  const initial = process.env["VITEST"] ? "silent" : "info";
  return settingsSchema.shape.LOG_LEVEL.catch(initial).parse(process.env["LOG_LEVEL"] ?? initial);
}

const worldNames = ["WORLD_APP_ID", "WORLD_RP_ID", "WORLD_RP_SIGNING_KEY"] as const;

const usesMailbox = (settings: Settings) =>
  settings.RESEND_API_KEY === undefined && settings.SMTP_URL === undefined;

/** World's settings win over APPROVALS: it only says what to do without them. */
function chooseWorldId({ WORLD_APP_ID, APPROVALS }: Settings): Env["worldId"] {
  if (WORLD_APP_ID !== undefined) return "portal";
  return APPROVALS === "passkeys" ? "none" : "local";
}

function missingSettings(settings: Settings, isLoopback: boolean): string[] {
  const world = worldNames.filter((name) => settings[name] === undefined);
  const problems: string[] = [];
  const mayLackWorld = isLoopback || settings.APPROVALS === "passkeys";
  if (world.length > 0 && (world.length < worldNames.length || !mayLackWorld)) {
    const orPasskeys =
      world.length < worldNames.length ? "" : "; or set APPROVALS=passkeys, and enrolled approvers decide";
    problems.push(
      `${world.join(", ")}: must be set, so that approvals are real World ID proofs${orPasskeys}`,
    );
  }
  const hasMail = !usesMailbox(settings);
  if (!hasMail && !isLoopback) problems.push("RESEND_API_KEY or SMTP_URL: must be set, so that mail is sent");
  if (hasMail && settings.MAIL_FROM === undefined)
    problems.push("MAIL_FROM: must be set with RESEND_API_KEY or SMTP_URL");
  if (problems.length > 0 && !isLoopback) {
    const standIns = mayLackWorld
      ? "the development mailbox runs"
      : "the local World ID stand-in and the development mailbox run";
    problems.push(`(PUBLIC_BASE_URL is not a loopback address: ${standIns} on loopback only)`);
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
  const usesStandIn = chooseWorldId(settings) === "local" || usesMailbox(settings);
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

function missingCompanions(settings: Settings): string[] {
  const problems: string[] = [];
  if (settings.TRUSTED_PROXIES !== undefined && settings.TRUSTED_PROXY_HOPS === 0)
    problems.push(
      "TRUSTED_PROXY_HOPS: must be set with TRUSTED_PROXIES, to how many proxies a request passes",
    );
  if (settings.SIGN_UP === "domains" && settings.SIGN_UP_DOMAINS.length === 0)
    problems.push("SIGN_UP_DOMAINS: must be set with SIGN_UP=domains, to those whose addresses may sign up");
  if (settings.SIGN_UP !== "domains" && settings.SIGN_UP_DOMAINS.length > 0)
    problems.push("SIGN_UP: must be domains with SIGN_UP_DOMAINS, because it is not looked at otherwise");
  const oidc = (["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"] as const).filter(
    (name) => settings[name] === undefined,
  );
  if (oidc.length > 0 && (oidc.length < 3 || settings.OIDC_ENFORCED === "on"))
    problems.push(`${oidc.join(", ")}: must be set for sign-in with an OpenID Connect provider`);
  if (settings.DEMO === "on" && chooseWorldId(settings) === "none")
    problems.push(
      "WORLD_APP_ID, WORLD_RP_ID, WORLD_RP_SIGNING_KEY: must be set with DEMO=on, because visitors have no passkeys here",
    );
  if (settings.DATABASE_LISTEN_URL !== undefined && settings.DATABASE_URL === undefined)
    problems.push("DATABASE_URL: must be set with DATABASE_LISTEN_URL, to the pooler in front of it");
  if (settings.DATABASE_REPLICA_URL !== undefined && settings.DATABASE_URL === undefined)
    problems.push(
      "DATABASE_URL: must be set with DATABASE_REPLICA_URL, to the primary that it is a standby of",
    );
  if (settings.TSA_URLS.length > 0 && settings.TSA_CERTIFICATES === undefined)
    problems.push(
      "TSA_CERTIFICATES: must be set with TSA_URLS, to a PEM file of the certificates that their time stamps must lead to",
    );
  return problems;
}

/** Throws an Error whose message has one line for each variable that is wrong. */
export function parseEnv(variables: Record<string, string | undefined>): Env {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value?.trim() !== ""));
  const parsed = settingsSchema.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
    throw new Error(`Countersign cannot start, these settings are wrong:\n${lines.join("\n")}`);
  }
  const settings = parsed.data;
  const baseUrl = settings.PUBLIC_BASE_URL ?? plainAddress(`http://localhost:${settings.PORT}`);
  const isLoopback = isLoopbackUrl(baseUrl);
  const problems = [...missingSettings(settings, isLoopback), ...missingCompanions(settings)];
  if (problems.length > 0) {
    throw new Error(
      `Countersign cannot start, settings are missing:\n${problems.map((p) => `  ${p}`).join("\n")}`,
    );
  }
  const worldId = chooseWorldId(settings);
  const isTest = worldId === "local" || (worldId === "portal" && settings.WORLD_ENVIRONMENT === "staging");
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

/** Returns every setting's name with its default as text, empty if there is none; `.env.example` is held against it. */
export function settingDefaults(): Record<string, string> {
  const entries = Object.entries(settingsSchema.shape).map(([name, setting]) => {
    const parsed = setting.safeParse(undefined);
    return [name, String(parsed.data ?? "")];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

/** The file that `npm run init` writes, in the service's folder. A variable that the environment has wins. */
export function loadEnvFile(): void {
  if (existsSync(".env")) process.loadEnvFile(".env");
}

/** Returns them unvalidated: `npm run doctor` reports what is wrong with them. */
export const readVariables = () => process.env;

export function readEnv(): Env {
  return parseEnv(process.env);
}

/**
 * Imports a module that needs a provider's SDK, which `npm start` doesn't install. Throws what to do if it is missing.
 * `setting`: what asks for it.
 */
export async function loadProvider<Module>(setting: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw cause;
    throw new Error(`${setting} needs a package that is not installed: run npm run providers`, { cause });
  }
}
