/** The service's clock is set, by an hour each way, while it runs: the database's counts. */
import { setTimeout as sleep } from "node:timers/promises";
import { callServer } from "#e2e/http/server-process";
import { type MovedClock, openMovedClock, whyNoMovedClock } from "#support/moved-clock";
import type { Work } from "./operations";
import type { Probes } from "./probes";
import { type Outcome, type Scenario, underLoad } from "./scenario";

const hour = 3_600;
const offsets = [hour, -hour, 0];
/** From the request to its answer, on a busy machine. */
const toleratedMs = 5_000;

const ask = async ({ bases, key, ledger }: Work, minutes: number) => {
  const body = { agent_slug: "clock-bot", action: "Pay", expires_in_minutes: minutes };
  const made = await callServer(bases[0] ?? "", "POST", "/v1/authorize", { key, body });
  ledger.authorizations.add(made.body.request_id);
  return made.body as { request_id: string; expires_at: string };
};

/** Finds signed times that differ from the time of the request. */
async function findMisdated({ bases, key }: Work): Promise<string[]> {
  const body = { agent_slug: "clock-bot", action: "act", inputs_hash: "x" };
  const askedMs = Date.now();
  const made = await callServer(bases[0] ?? "", "POST", "/v1/attest", { key, body });
  const receipt = await callServer(bases[0] ?? "", "GET", `/v1/verify/${made.body.attestation_id}`, { key });
  const text = JSON.stringify(receipt.body);
  const [, stamp = ""] = /"timestamp":"([^"]+)"/.exec(text) ?? [];
  const offMs = Date.parse(stamp) - askedMs;
  const isRight = made.status === 201 && offMs > -1_000 && offMs < toleratedMs;
  return isRight
    ? []
    : [`an attestation is dated ${stamp}, ${Math.round(offMs / 1000)} s off (${made.status})`];
}

/** A request of 30 minutes is still open, and one of 5 minutes that is made now ends in 5 minutes. */
async function findMisjudged(work: Work, waiting: { request_id: string }): Promise<string[]> {
  const read = async (id: string) =>
    (await callServer(work.bases[0] ?? "", "GET", `/v1/authorize/${id}`, { key: work.key })).body;
  const problems: string[] = [];
  const old = await read(waiting.request_id);
  if (old.status !== "pending") problems.push(`a request of 30 minutes is ${old.status} at once`);
  const fresh = await ask(work, 5);
  const leftMs = Date.parse(fresh.expires_at) - Date.now();
  if (Math.abs(leftMs - 300_000) > toleratedMs) problems.push(`a request of 5 minutes ends in ${leftMs} ms`);
  if ((await read(fresh.request_id)).status !== "pending")
    problems.push("a request of 5 minutes has ended at once");
  return problems;
}

async function move(clock: MovedClock, work: Work, probes: Probes, problems: string[]): Promise<string> {
  const waiting = await ask(work, 30);
  for (const offset of offsets) {
    clock.set(offset);
    // In the first moment, and later.
    for (const pauseMs of [0, 1_000]) {
      await sleep(pauseMs);
      const found = [...(await findMisdated(work)), ...(await findMisjudged(work, waiting))];
      problems.push(...found.map((one) => `${offset} s: ${one}`));
      await probes.round([200, 201], problems);
    }
  }
  return `set by ${offsets.join(", ")} s`;
}

export const movedClock: Scenario = {
  name: "moved clock",
  run: async (chance): Promise<Outcome | string> => {
    const reason = whyNoMovedClock();
    if (reason !== null) return reason;
    const clock = openMovedClock();
    const settings = async () => clock.settings;
    return underLoad({ chance, settings, instances: [2] }, async ({ work }, probes, problems) =>
      move(clock, work, probes, problems),
    ).finally(clock.close);
  },
};
