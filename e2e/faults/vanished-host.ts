/** The database's host vanishes without closing a connection, and comes back. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startCluster } from "#ci/postgres";
import { obtainKey } from "#e2e/http/server-process";
import { findPort } from "#support/ports";
import { noLimits } from "#support/processes";
import { openVanishingLink, whyNoLink } from "#support/vanishing-link";
import { superviseInstance } from "./instance";

export interface Vanished {
  /** The longest of the answers of 503 while the host is gone, in milliseconds: the first ones, and all later ones. */
  firstMs: number;
  laterMs: number;
  /** From the link's return to the first attestation. */
  backMs: number;
  /** Answers that are wrong, in words. */
  problems: string[];
}

async function time(ask: () => Promise<Response>): Promise<{ status: number; ms: number }> {
  const startedMs = performance.now();
  const status = await ask().then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.status;
    },
    () => 0,
  );
  return { status, ms: performance.now() - startedMs };
}

async function observe(base: string, link: { down(): void; up(): void }): Promise<Vanished> {
  const key = await obtainKey(base);
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const attest = () => {
    const body = JSON.stringify({ agent_slug: "link-bot", action: "a", inputs_hash: "x" });
    return fetch(`${base}/v1/attest`, { method: "POST", headers, body });
  };
  const made = (await (await attest()).json()) as { attestation_id: string };
  const asks: Record<string, () => Promise<Response>> = {
    attest,
    verify: () => fetch(`${base}/v1/verify/${made.attestation_id}`, { headers }),
    list: () => fetch(`${base}/v1/attestations`, { headers }),
    page: () => fetch(`${base}/verify/link-bot/${made.attestation_id}`),
  };
  for (const ask of Object.values(asks)) await time(ask);
  const problems: string[] = [];
  const round = async () => {
    const answers = Object.entries(asks).map(async ([name, ask]) => {
      const { status, ms } = await time(ask);
      if (status !== 503) problems.push(`${name} was answered ${status} after ${Math.round(ms)} ms`);
      return ms;
    });
    return Math.max(...(await Promise.all(answers)));
  };
  link.down();
  const firstMs = await round();
  const laterMs = Math.max(await round(), await round());
  link.up();
  const startedMs = performance.now();
  while ((await time(attest)).status !== 201) {
    if (performance.now() - startedMs > 60_000) throw new Error("it did not come back in a minute");
    await sleep(100);
  }
  const backMs = performance.now() - startedMs;
  for (const name of ["verify", "page"]) {
    const { status } = await time(asks[name] as () => Promise<Response>);
    if (status !== 200) problems.push(`${name} was answered ${status} when the host was back`);
  }
  return { firstMs, laterMs, backMs, problems };
}

/** The reason if it cannot be tried here. */
export async function tryVanishedHost(): Promise<Vanished | string> {
  const reason = whyNoLink();
  if (reason !== null) return reason;
  const cluster = await startCluster(["max_connections=100"]);
  const dataDir = await mkdtemp(path.join(tmpdir(), "countersign-vanished-"));
  const link = await openVanishingLink(cluster.url);
  const settings = { ...noLimits, DATABASE_URL: link.url, DATA_DIR: dataDir, PROCESSES: "2" };
  const instance = superviseInstance(await findPort(), settings);
  try {
    await instance.ready();
    return await observe(instance.base, link);
  } finally {
    link.up();
    await instance.stop();
    await link.close();
    await cluster.stop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  }
}
