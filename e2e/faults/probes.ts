/** One question of each kind, asked while something is amiss: how it is answered, and how soon. */
import { setTimeout as sleep } from "node:timers/promises";

export interface Timed {
  /** 0: the connection broke. */
  status: number;
  ms: number;
}

export interface Probes {
  names: readonly string[];
  ask(name: string): Promise<Timed>;
  /** These at once, or all. The longest answer in milliseconds; `problems` gets what is answered otherwise, or too late. */
  round(
    expected: readonly number[],
    problems: string[],
    limitMs?: number,
    only?: readonly string[],
  ): Promise<number>;
  /** Milliseconds until all are answered as they should be; throws if that takes a minute. */
  back(): Promise<number>;
}

const backLimitMs = 60_000;

async function time(ask: () => Promise<Response>): Promise<Timed> {
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

/** Makes an attestation to ask for. */
export async function openProbes(base: string, key: string): Promise<Probes> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const attest = () => {
    const body = JSON.stringify({ agent_slug: "probe-bot", action: "probe", inputs_hash: "x" });
    return fetch(`${base}/v1/attest`, { method: "POST", headers, body });
  };
  const made = (await (await attest()).json()) as { attestation_id: string };
  const asks: Record<string, () => Promise<Response>> = {
    attest,
    verify: () => fetch(`${base}/v1/verify/${made.attestation_id}`, { headers }),
    list: () => fetch(`${base}/v1/attestations`, { headers }),
    // Nobody has asked for it before, so nothing of it is in memory: not its limit either.
    agent: () => fetch(`${base}/agent/probe-bot`),
    page: () => fetch(`${base}/verify/probe-bot/${made.attestation_id}`),
  };
  const names = Object.keys(asks);
  const ask = (name: string) => time(asks[name] as () => Promise<Response>);
  for (const name of names) if (name !== "agent") await ask(name);
  const round: Probes["round"] = async (expected, problems, limitMs = 15_000, only = names) => {
    const answers = only.map(async (name) => {
      const { status, ms } = await ask(name);
      if (!expected.includes(status) || ms > limitMs)
        problems.push(`${name} was answered ${status} after ${Math.round(ms)} ms`);
      return ms;
    });
    return Math.max(...(await Promise.all(answers)));
  };
  return {
    names,
    ask,
    round,
    back: async () => {
      const startedMs = performance.now();
      // Twice: one process of several may be back before another.
      for (let good = 0; good < 2; ) {
        const problems: string[] = [];
        await round([200, 201], problems);
        good = problems.length === 0 ? good + 1 : 0;
        if (performance.now() - startedMs > backLimitMs)
          throw new Error(`it did not come back in a minute: ${problems.join(", ")}`);
        await sleep(100);
      }
      return performance.now() - startedMs;
    },
  };
}
