/**
 * Checks services of others: witnesses, time-stamp authorities, mail, World, Redis, and the service's own public
 * address.
 */
import { readFile } from "node:fs/promises";
import type { Env } from "#lib/env";
import { parseCertificates } from "#lib/protocol/encoding/certificate";
import { pingRedis } from "#lib/server/redis";
import { readV4VerifyingKey } from "#lib/services/approvals/world-id/v4-key";
import { trySmtp } from "#lib/services/notifications/transports";
import { type Finding, hostOf, openArea, reasonOf } from "./findings";

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

/** The clock, by the Date of an answer. */
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
      area.ok(`${hostOf(url)} answers`);
      if (clocks.length === 0) clocks.push(...judgeClock(answer, hostOf(url), sentMs, answeredMs));
    } catch (error) {
      area.fault(`${hostOf(url)} is out of reach (${reasonOf(error)})`, mend);
    }
  }
  return [...area.found, ...clocks];
}

async function examineMail(env: Env, outside: Outside): Promise<Finding[]> {
  const area = openArea("mail");
  try {
    if (env.SMTP_URL !== undefined && env.mail === "smtp") {
      await trySmtp(env.SMTP_URL);
      area.ok(`${hostOf(env.SMTP_URL)} takes mail`);
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
      `the mail service doesn't take mail (${reasonOf(error)})`,
      "Check SMTP_URL or RESEND_API_KEY, and the network.",
    );
  }
  return area.found;
}

async function examineWorld(env: Env, outside: Outside): Promise<Finding[]> {
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
    if (env.WORLD_ID_V4_VERIFYING_KEY !== undefined) readV4VerifyingKey(env.WORLD_ID_V4_VERIFYING_KEY);
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

/** The discovery document, as each sign-in reads it. */
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
        `${hostOf(url)} calls itself another issuer`,
        `Set OIDC_ISSUER to ${String(found["issuer"])}.`,
      );
    else if (typeof found["userinfo_endpoint"] !== "string")
      area.fault(`${hostOf(url)} has no userinfo endpoint`, "Sign-in needs one.");
    else area.ok(`${hostOf(url)} signs people in (OIDC)`);
  } catch (error) {
    area.fault(
      `${hostOf(url)} can't be read (${reasonOf(error)})`,
      "Check OIDC_ISSUER, and allow this host in the firewall.",
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
    const says = `the public address is out of reach from here (${reasonOf(error)})`;
    area.warning(says, "Fine before the first start. Else check DNS, proxy and certificate.");
  }
  return area.found;
}

export async function examineOutside(env: Env, outside: Outside): Promise<Finding[]> {
  const areas = [examineTime, examineMail, examineWorld, examineProvider, examineNetwork].map((examine) =>
    examine(env, outside),
  );
  return (await Promise.all(areas)).flat();
}
