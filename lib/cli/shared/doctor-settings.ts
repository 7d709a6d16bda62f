/** Checks that the settings are fit for a service that others rely on. */

import { readFile } from "node:fs/promises";
import { isNotNull } from "drizzle-orm";
import type { Secrets } from "#lib/api/http/context";
import type { Database } from "#lib/db/client";
import { webhookEndpoints } from "#lib/db/schema";
import { type Env, parseEnv } from "#lib/env";
import type { SecretFiles } from "#lib/log/signing/first-keys";
import { parseCertificates } from "#lib/protocol/encoding/certificate";
import { formatCount } from "#lib/protocol/text/display-text";
import { pingRedis } from "#lib/server/redis";
import { openSecrets } from "#lib/server/secrets";
import { readV4VerifyingKey } from "#lib/services/approvals/world-id/provider";
import { trySmtp } from "#lib/services/notifications/transports";
import { openKeys, UnreadableKeys } from "#lib/services/webhooks/endpoints";

/* Findings, as `npm run doctor` and `npm run init` print them. */

export interface Finding {
  area:
    | "settings"
    | "clock"
    | "database"
    | "replica"
    | "keys"
    | "log"
    | "witnesses"
    | "mail"
    | "world"
    | "network";
  /** `fault`: not fit for production. */
  status: "ok" | "warning" | "fault";
  says: string;
  mend: string;
}

export function openArea(area: Finding["area"]) {
  const found: Finding[] = [];
  const add = (status: Finding["status"]) => (says: string, mend: string) =>
    void found.push({ area, status, says, mend });
  return {
    found,
    ok: (says: string) => add("ok")(says, ""),
    warning: add("warning"),
    fault: add("fault"),
  };
}

export type Area = ReturnType<typeof openArea>;

const marks = { ok: "ok     ", warning: "warning", fault: "FAULT  " } as const;

export function encodeFindings(findings: readonly Finding[]): string[] {
  const lines = findings.flatMap(({ area, status, says, mend }) => [
    `${marks[status]}  ${area}: ${says}`,
    ...(mend === "" ? [] : [`         → ${mend}`]),
  ]);
  const count = (status: Finding["status"]) => findings.filter((one) => one.status === status).length;
  return [
    ...lines,
    `${count("ok")} ok, ${formatCount(count("warning"), "warning")}, ${formatCount(count("fault"), "fault")}`,
  ];
}

/** An error's code or kind: its message may repeat an address with a password. */
export function nameError(error: unknown): string {
  const { cause, code, name } = error as { cause?: { code?: unknown }; code?: unknown; name?: string };
  const known = [cause?.code, code, name].find((one) => typeof one === "string");
  return typeof known === "string" ? known : "unknown";
}

/** Hides a password in the address. */
const readHost = (url: string) => new URL(url).host;

/** Reads the settings, or returns a finding for each one that the start would reject. */
export function readSettings(variables: Record<string, string | undefined>): Env | Finding[] {
  try {
    return parseEnv(variables);
  } catch (error) {
    const area = openArea("settings");
    const lines = (error as Error).message.split("\n").filter((line) => line.startsWith("  "));
    for (const line of lines)
      area.fault(line.trim(), "The service doesn't start with this. See .env.example.");
    if (area.found.length === 0)
      area.fault(`the settings can't be read (${nameError(error)})`, "The service doesn't start with them.");
    return area.found;
  }
}

export function examineAddress(env: Env, { ok, warning, fault }: Area): void {
  if (env.isLoopback)
    fault(
      "PUBLIC_BASE_URL is a loopback address, so links work on this machine only",
      "Set PUBLIC_BASE_URL to the public https address.",
    );
  else if (!env.baseUrl.startsWith("https://"))
    fault("PUBLIC_BASE_URL is not https", "Put a TLS proxy in front, and set PUBLIC_BASE_URL to https://…");
  else ok(`links lead to ${env.baseUrl}`);
  if (env.isLoopback) return;
  if (env.TRUSTED_PROXY_HOPS === 0)
    fault(
      "TRUSTED_PROXY_HOPS is 0, so all clients behind the TLS proxy share the limits of one",
      "Set it to the number of proxies that a request passes.",
    );
  else if (env.TRUSTED_PROXIES === undefined && env.bindAddresses === null)
    warning(
      "whoever reaches the port can write X-Forwarded-For",
      "Set TRUSTED_PROXIES, or HOST, or keep everyone but the proxy away with a firewall.",
    );
  else ok("forwarding headers are taken from the proxy alone");
}

function examineTrust(env: Env, { ok, warning }: Area): void {
  if (env.WITNESSES === undefined)
    warning("no witness cosigns the log, so a split view would go unnoticed", "Set WITNESSES.");
  else
    ok(
      `${formatCount(env.WITNESSES.witnesses.length, "witness", "witnesses")}, of which ${env.WITNESSES.threshold} must cosign`,
    );
  if (env.TSA_URLS.length === 0)
    warning("no time-stamp authority stamps the log", "Set TSA_URLS and TSA_CERTIFICATES.");
  const isStaging = env.worldId === "portal" && env.WORLD_ENVIRONMENT === "staging";
  if (isStaging || env.worldId === "local")
    warning("approvals are marked TEST", "Set the World ID settings of production.");
  else if (env.worldId === "none" && env.isLoopback)
    warning(
      "approvals are marked TEST",
      "Set PUBLIC_BASE_URL: they are as long as it is a loopback address.",
    );
  if (env.isDemoOn && env.WORLD_ENVIRONMENT === "production" && env.worldId === "portal")
    warning("visitors may try real approvals (DEMO=on)", "Unset DEMO.");
}

export function examineSignUp({ SIGN_UP, SIGN_UP_DOMAINS }: Env, { ok }: Area): void {
  if (SIGN_UP === "open") ok("whoever receives mail can create an organization (SIGN_UP)");
  else if (SIGN_UP === "invited") ok("only invited people can sign in (SIGN_UP)");
  else ok(`addresses at ${SIGN_UP_DOMAINS.join(", ")} can create an organization (SIGN_UP)`);
}

function examineOperation(env: Env, { ok, warning, fault }: Area): void {
  if (env.DATABASE_URL === undefined)
    fault("the embedded database is for trying Countersign out", "Set DATABASE_URL to a PostgreSQL.");
  else ok(`${env.processCount === 1 ? "1 process answers" : `${env.processCount} processes answer`} the API`);
  if (env.LOG_LEVEL === "silent" || env.LOG_LEVEL === "error")
    warning(`LOG_LEVEL is ${env.LOG_LEVEL}, so warnings are lost`, "Set it to info.");
  if (env.METRICS_PORT !== undefined && !["127.0.0.1", "::1"].includes(env.METRICS_HOST))
    warning("metrics are not on loopback", "Keep METRICS_PORT closed to everyone but Prometheus.");
}

export function examineSettings(env: Env): Finding[] {
  const area = openArea("settings");
  examineAddress(env, area);
  examineTrust(env, area);
  examineSignUp(env, area);
  examineOperation(env, area);
  return area.found;
}

/* Checks that AUTH_SECRET is this database's: of all stored data, only the keys of webhook endpoints tell. */

function opens(secrets: Secrets, id: string, sealed: Uint8Array): boolean {
  try {
    openKeys({ secrets }, id, sealed);
    return true;
  } catch (error) {
    if (error instanceof UnreadableKeys) return false;
    throw error;
  }
}

const namedAtMost = 20;

export async function examineAuthSecret(
  env: Env,
  files: SecretFiles,
  { db }: Database,
  { ok, fault }: Area,
): Promise<void> {
  const { id, keys } = webhookEndpoints;
  const endpoints = await db.select({ id, keys }).from(webhookEndpoints).where(isNotNull(keys));
  if (endpoints.length === 0) return;
  const secrets = await openSecrets(env, files);
  const shut = endpoints.filter((one) => one.keys !== null && !opens(secrets, one.id, one.keys));
  const all = formatCount(endpoints.length, "webhook endpoint");
  if (shut.length === 0) return ok(`AUTH_SECRET opens the keys of ${all}`);
  const named = shut.slice(0, namedAtMost).map((one) => one.id);
  const more = shut.length > namedAtMost ? ` and ${shut.length - namedAtMost} more` : "";
  fault(
    `AUTH_SECRET doesn't open the keys of ${shut.length} of ${all}: ${named.join(", ")}${more}`,
    "Bring back the AUTH_SECRET that this database was used with. If it is lost, ask the owners to rotate these endpoints: nothing is delivered to them until then.",
  );
}

/*
 * Checks services of others: witnesses, time-stamp authorities, mail, World, Redis, and the service's own public
 * address.
 */

export interface Outside {
  fetch: typeof fetch;
  clock: () => Date;
}

const timeoutMs = 10_000;
/** A Date header has whole seconds. */
const toleratedSeconds = 5;

/** Any answer will do: most of these addresses have nothing to say to a GET. */
const reach = ({ fetch: ask }: Outside, url: string, headers: Record<string, string> = {}) =>
  ask(url, { headers, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });

function judgeClock(answer: Response, host: string, sentMs: number, answeredMs: number): Finding[] {
  const area = openArea("clock");
  const theirsMs = Date.parse(answer.headers.get("date") ?? "");
  if (Number.isNaN(theirsMs)) return [];
  const wholeSentMs = sentMs - (sentMs % 1000);
  const seconds = Math.round(Math.max(wholeSentMs - theirsMs, theirsMs - answeredMs, 0) / 1000);
  const says = `this machine's clock and that of ${host} differ by ${seconds} s`;
  if (seconds > toleratedSeconds) area.fault(says, "Set this machine's clock by NTP.");
  else area.ok(says);
  return area.found;
}

async function examineReach(
  outside: Outside,
  areaName: Finding["area"],
  urls: readonly string[],
  mend: string,
): Promise<Finding[]> {
  const area = openArea(areaName);
  const clocks: Finding[] = [];
  for (const url of urls) {
    const sentMs = outside.clock().getTime();
    try {
      const answer = await reach(outside, url);
      const answeredMs = outside.clock().getTime();
      area.ok(`${readHost(url)} answers`);
      if (clocks.length === 0) clocks.push(...judgeClock(answer, readHost(url), sentMs, answeredMs));
    } catch (error) {
      area.fault(`${readHost(url)} is out of reach (${nameError(error)})`, mend);
    }
  }
  return [...area.found, ...clocks];
}

export async function examineMail(env: Env, outside: Outside): Promise<Finding[]> {
  const area = openArea("mail");
  try {
    if (env.SMTP_URL !== undefined && env.mail === "smtp") {
      await trySmtp(env.SMTP_URL);
      area.ok(`${readHost(env.SMTP_URL)} takes mail`);
    } else if (env.RESEND_API_KEY !== undefined) {
      const url = `${env.RESEND_BASE_URL ?? "https://api.resend.com"}/domains`;
      const answer = await reach(outside, url, { authorization: `Bearer ${env.RESEND_API_KEY}` });
      // A key that may only send is not shown the domains.
      const mayOnlySend = answer.status === 401 && (await answer.text()).includes("restricted_api_key");
      if (answer.ok || mayOnlySend) area.ok("Resend knows the key");
      else area.fault(`Resend answers ${answer.status}`, "Check RESEND_API_KEY.");
    } else
      area.fault(
        "mail isn't sent: the development mailbox runs",
        "Set RESEND_API_KEY or SMTP_URL, and MAIL_FROM.",
      );
  } catch (error) {
    area.fault(
      `the mail service doesn't take mail (${nameError(error)})`,
      "Check SMTP_URL or RESEND_API_KEY, and the network.",
    );
  }
  return area.found;
}

export async function examineWorld(env: Env, outside: Outside): Promise<Finding[]> {
  const area = openArea("world");
  if (env.worldId === "none") {
    area.ok("approvals are passkeys of enrolled approvers, without World ID");
    return area.found;
  }
  if (env.worldId === "local") {
    area.fault(
      "the local World ID stand-in runs",
      "Set WORLD_APP_ID, WORLD_RP_ID and WORLD_RP_SIGNING_KEY, or APPROVALS=passkeys.",
    );
    return area.found;
  }
  if (env.APPROVALS === "passkeys") area.ok("World ID is set up, so APPROVALS changes nothing");
  try {
    if (env.WORLD_ID_V4_VERIFYING_KEY !== undefined) await readV4VerifyingKey(env.WORLD_ID_V4_VERIFYING_KEY);
    else area.warning("v4 proofs are checked by World alone", "Set WORLD_ID_V4_VERIFYING_KEY.");
  } catch {
    area.fault(
      "WORLD_ID_V4_VERIFYING_KEY can't be read",
      "Set it to World's key as JSON, or to the path of that file.",
    );
  }
  if (env.WORLD_CHAIN_RPC_URL === undefined)
    area.warning("roots aren't looked up on World Chain", "Set WORLD_CHAIN_RPC_URL.");
  const urls = [env.WORLD_PORTAL_URL, env.WORLD_CHAIN_RPC_URL].filter((url) => url !== undefined);
  const mend = "Approvals stay pending while World is out of reach: allow this host in the firewall.";
  return [...area.found, ...(await examineReach(outside, "world", urls, mend))];
}

const encodeForm = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);

/**
 * Error of the token endpoint for a code that it never gave out. Next-auth authenticates likewise (RFC 6749, 2.3.1). A provider
 * looks at the client before the code.
 */
async function tryClient(env: Env, { fetch: ask }: Outside, url: string): Promise<string | null> {
  const client = [env.OIDC_CLIENT_ID ?? "", env.OIDC_CLIENT_SECRET ?? ""].map(encodeForm).join(":");
  const answer = await ask(url, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(client).toString("base64")}`, accept: "application/json" },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: "none",
      code_verifier: "none".repeat(11),
      redirect_uri: `${env.PUBLIC_BASE_URL}/api/auth/callback/oidc`,
    }),
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
  });
  const { error } = (await answer.json().catch(() => ({}))) as { error?: unknown };
  // Keycloak has another word for it.
  if (answer.status === 401) return "invalid_client";
  return typeof error === "string" ? error : null;
}

async function examineProvider(env: Env, outside: Outside): Promise<Finding[]> {
  const { OIDC_ISSUER: issuer } = env;
  if (issuer === undefined) return [];
  const area = openArea("network");
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  try {
    const answer = await reach(outside, url, { accept: "application/json" });
    const found = answer.ok ? ((await answer.json()) as Record<string, unknown>) : null;
    if (found === null) area.fault(`${url} answers ${answer.status}`, "Check OIDC_ISSUER.");
    else if (found["issuer"] !== issuer)
      area.fault(
        `${readHost(url)} calls itself another issuer`,
        `Set OIDC_ISSUER to ${String(found["issuer"])}.`,
      );
    else if (typeof found["userinfo_endpoint"] !== "string")
      area.fault(`${readHost(url)} has no userinfo endpoint`, "Sign-in needs one.");
    else {
      const { token_endpoint: endpoint } = found;
      const error = typeof endpoint === "string" ? await tryClient(env, outside, endpoint) : null;
      if (error === "invalid_client")
        area.fault(
          `${readHost(url)} doesn't know this client, or not by this secret`,
          "Check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET: nobody can sign in there.",
        );
      else
        area.ok(
          `${readHost(url)} signs people in (OIDC)${error === "invalid_grant" ? ", and knows this client" : ""}`,
        );
    }
  } catch (error) {
    area.fault(
      `${readHost(url)} can't be read (${nameError(error)})`,
      "Check OIDC_ISSUER, and allow this host in the firewall.",
    );
  }
  return area.found;
}

/**
 * Exports nothing, as a test. The exporter alone reads OTEL_EXPORTER_OTLP_HEADERS, so a refusal for want of them says enough.
 */
async function examineCollector(env: Env, { fetch: ask }: Outside): Promise<Finding[]> {
  const { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: url } = env;
  if (url === undefined) return [];
  const area = openArea("network");
  try {
    const answer = await ask(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"resourceLogs":[]}',
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const says = ((await answer.json().catch(() => ({}))) as { partialSuccess?: { errorMessage?: unknown } })
      .partialSuccess?.errorMessage;
    if (answer.status === 401 || answer.status === 403)
      area.ok(`${readHost(url)} answers, and asks for OTEL_EXPORTER_OTLP_HEADERS, which aren't tried here`);
    else if (!answer.ok)
      area.fault(
        `${readHost(url)} answers ${answer.status} to OTLP logs`,
        "Check OTEL_EXPORTER_OTLP_LOGS_ENDPOINT, which is the full address.",
      );
    else if (says !== undefined)
      area.warning(`${readHost(url)} takes OTLP logs with a warning: ${says}`, "Look at the collector.");
    else area.ok(`${readHost(url)} takes the audit log (OTLP)`);
  } catch (error) {
    area.fault(
      `${readHost(url)} can't be reached (${nameError(error)})`,
      "Check OTEL_EXPORTER_OTLP_LOGS_ENDPOINT, and allow this host in the firewall. Audit events wait until then.",
    );
  }
  return area.found;
}

async function examineTime(env: Env, outside: Outside): Promise<Finding[]> {
  const area = openArea("witnesses");
  const witnesses = env.WITNESSES?.witnesses.map(({ url }) => url) ?? [];
  if (env.TSA_CERTIFICATES !== undefined) {
    await readFile(env.TSA_CERTIFICATES, "utf8")
      .then(parseCertificates)
      .catch(() =>
        area.fault("TSA_CERTIFICATES can't be read", "Set it to a PEM file of root certificates."),
      );
  }
  const urls = [...witnesses, ...env.TSA_URLS, ...(env.DRAND_URL === undefined ? [] : [env.DRAND_URL])];
  const mend = "Allow this host in the firewall, or take it out of the settings.";
  return [...area.found, ...(await examineReach(outside, "witnesses", urls, mend))];
}

async function examineNetwork(env: Env, outside: Outside): Promise<Finding[]> {
  const area = openArea("network");
  if (env.REDIS_URL !== undefined) {
    await pingRedis(env.REDIS_URL).then(
      () => area.ok("Redis answers"),
      () =>
        area.fault(
          "Redis is out of reach",
          "Check REDIS_URL. Until then limits are counted in the database.",
        ),
    );
  }
  try {
    const { status } = await reach(outside, `${env.baseUrl}/v1/health`);
    if (status === 200) area.ok("the public address answers");
    else
      area.warning(
        `the public address answers ${status}`,
        "Fine before the first start. Else check the proxy.",
      );
  } catch (error) {
    const says = `the public address is out of reach from here (${nameError(error)})`;
    area.warning(says, "Fine before the first start. Else check DNS, proxy and certificate.");
  }
  return area.found;
}

export async function examineOutside(env: Env, outside: Outside): Promise<Finding[]> {
  const areas = [
    examineTime,
    examineMail,
    examineWorld,
    examineProvider,
    examineCollector,
    examineNetwork,
  ].map((examine) => examine(env, outside));
  return (await Promise.all(areas)).flat();
}
