/** For tests: the client of lib/client in front of a test app, without a port, and connections that break. */

import { rememberPeer } from "#lib/api/http/rate-limit";
import { type Countersign, type CountersignOptions, createCountersign } from "#lib/client/create";
import { dispatch } from "#lib/server/operations";
import type { TestApp } from "./app";

export type Fetch = NonNullable<CountersignOptions["fetch"]>;

export const fetchFrom =
  (test: TestApp): Fetch =>
  async (url, init) => {
    test.use();
    const request = new Request(url, init);
    rememberPeer(request, "127.0.0.1");
    const { signal } = request;
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    return Promise.race([dispatch(request), aborted]);
  };

/** Runtime without pauses, so that no test waits; `slept` has the intended lengths. */
export function quietRuntime() {
  const slept: number[] = [];
  const sleep = async (ms: number, signal: AbortSignal | undefined) => {
    slept.push(ms);
    await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
  };
  return { slept, sleep, random: () => 0 };
}

export const clientOf = (test: TestApp, apiKey: string, fetch: Fetch = fetchFrom(test)): Countersign =>
  createCountersign({ baseUrl: "http://localhost:3000", apiKey, fetch, runtime: quietRuntime() });

/** `before`: the request is lost. `after`: the service has done what was asked, and its answer is lost. */
export type Break = "before" | "after";

/** Breaks the connections that `isBroken` chooses by their number, from 1. */
export function breaking(fetch: Fetch, kind: Break, isBroken: (number: number) => boolean): Fetch {
  let number = 0;
  return async (url, init) => {
    number += 1;
    const broken = isBroken(number);
    if (broken && kind === "before") throw new TypeError("fetch failed");
    const response = await fetch(url, init);
    if (!broken) return response;
    await response.body?.cancel();
    throw new TypeError("terminated");
  };
}
