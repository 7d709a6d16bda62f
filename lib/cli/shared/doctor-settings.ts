/** Checks that the settings are fit for a service that others rely on. */

import { isNotNull } from "drizzle-orm";
import type { Secrets } from "#lib/api/http/context";
import type { Database } from "#lib/db/client";
import { webhookEndpoints } from "#lib/db/schema";
import { type Env, parseEnv } from "#lib/env";
import type { SecretFiles } from "#lib/log/signing/first-keys";
import { countOf } from "#lib/protocol/text/display-text";
import { openSecrets } from "#lib/server/secrets";
import { openKeys, UnreadableKeys } from "#lib/services/webhooks/endpoints";
import { type Area, type Finding, openArea, reasonOf } from "./findings";

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
      area.fault(`the settings can't be read (${reasonOf(error)})`, "The service doesn't start with them.");
    return area.found;
  }
}

function examineAddress(env: Env, { ok, warning, fault }: Area): void {
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
  else ok(`${env.WITNESSES.witnesses.length} witnesses, of which ${env.WITNESSES.threshold} must cosign`);
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

function examineSignUp({ SIGN_UP, SIGN_UP_DOMAINS }: Env, { ok }: Area): void {
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
  const all = countOf(endpoints.length, "webhook endpoint");
  if (shut.length === 0) return ok(`AUTH_SECRET opens the keys of ${all}`);
  const named = shut.slice(0, namedAtMost).map((one) => one.id);
  const more = shut.length > namedAtMost ? ` and ${shut.length - namedAtMost} more` : "";
  fault(
    `AUTH_SECRET doesn't open the keys of ${shut.length} of ${all}: ${named.join(", ")}${more}`,
    "Bring back the AUTH_SECRET that this database was used with. If it is lost, ask the owners to rotate these endpoints: nothing is delivered to them until then.",
  );
}
