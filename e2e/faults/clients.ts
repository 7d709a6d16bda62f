/** Calls of the service from outside, each noted in the ledger. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger } from "./ledger";

// biome-ignore lint/suspicious/noExplicitAny: answers are read freely
export type Heard = { status: number; headers: Headers; body: any };

export interface Ask {
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Longer than any request may take: the connection is given up then, as if it had broken. */
const giveUpMs = 90_000;
/** Before anything is asked again. */
const pauseMs = 100;

/** Out of reach, or overtaken: the same may be asked again. */
export const isUnknown = ({ status }: Heard) => status === 0 || status === 503;

export interface Client {
  /** Status 0 if the connection broke. Whether another status is as it should be, the caller says. */
  call(base: string, method: string, path: string, ask?: Ask): Promise<Heard>;
  /** Notes an answer that no fault explains, unless its status is one of `expected` or the outcome is unknown. */
  judge(what: string, heard: Heard, expected: readonly number[]): boolean;
}

async function send(base: string, method: string, path: string, ask: Ask): Promise<Heard> {
  const headers = new Headers(ask.headers);
  if (ask.body !== undefined) headers.set("content-type", "application/json");
  if (ask.key !== undefined) headers.set("authorization", `Bearer ${ask.key}`);
  const signal = AbortSignal.timeout(giveUpMs);
  const body = ask.body === undefined ? null : JSON.stringify(ask.body);
  try {
    const response = await fetch(`${base}${path}`, { method, headers, body, signal });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  } catch {
    return { status: 0, headers: new Headers(), body: null };
  }
}

export function createClient(ledger: Ledger, now: () => number): Client {
  return {
    call: async (base, method, path, ask = {}) => {
      const startedMs = now();
      ledger.operations += 1;
      const heard = await send(base, method, path, ask);
      if (heard.status !== 0) ledger.longestAnswerMs = Math.max(ledger.longestAnswerMs, now() - startedMs);
      if (!isUnknown(heard)) return heard;
      ledger.unknown += 1;
      await sleep(pauseMs);
      return heard;
    },
    judge: (what, heard, expected) => {
      if (isUnknown(heard)) return false;
      const isExpected = expected.includes(heard.status);
      if (isExpected) ledger.acknowledge();
      else ledger.unexpected.push(`${what}: ${heard.status} ${JSON.stringify(heard.body).slice(0, 300)}`);
      return isExpected;
    },
  };
}
