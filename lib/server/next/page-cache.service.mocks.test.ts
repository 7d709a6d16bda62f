import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import {
  createPageCache,
  HANDED_OVER_HEADER,
  type PageCache,
  type PreloadedData,
  takePreloadedData,
} from "./page-cache";

const id = "01a207ba-4429-7cda-8900-14acd2e27e3a";
const path = `/verify/agent/${id}`;
const handedOver = new Map<string, PreloadedData>();
let stored: unknown;
let asked: string[] = [];
/** Requests for pages as Next saw them. */
let made: Record<string, unknown>[] = [];
let kept: PageCache;
let nowMs = 0;
let isBroken = false;
/** Until it is the page's turn. */
let waitMs = 0;
let whileWaiting = () => {};

/** In Next's place: renders what was handed over. */
const server = createServer(async (incoming, outgoing) => {
  if (await kept.serve(incoming, outgoing)) return;
  made.push({ url: incoming.url, ...incoming.headers });
  nowMs += waitMs;
  whileWaiting();
  const headers = new Headers({ [HANDED_OVER_HEADER]: String(incoming.headers[HANDED_OVER_HEADER]) });
  const taken = takePreloadedData({ handedOver }, headers, nowMs);
  const text = await (taken ?? Promise.resolve("nothing handed over")).then(
    (value) => JSON.stringify(value),
    () => null,
  );
  const nonce = `AAAA+BBBB/CCCCDDDDEEEE${String(made.length).padStart(2, "0")}`;
  const body = Buffer.from(
    `<html><script nonce="${nonce}">${text}</script>${incoming.headers.cookie}</html>`,
  );
  const isZipped = incoming.headers["accept-encoding"] === "gzip";
  outgoing.statusCode = text === null ? 404 : 200;
  outgoing.setHeader("Content-Type", "text/html; charset=utf-8");
  outgoing.setHeader("Content-Security-Policy", `script-src 'nonce-${nonce}'`);
  if (isZipped) outgoing.setHeader("Content-Encoding", "gzip");
  const sent = isZipped ? gzipSync(body) : body;
  outgoing.end(isBroken ? sent.subarray(0, sent.length - 20) : sent);
});

interface Got {
  status: number;
  text: string;
}

function ask(to: string, headers: Record<string, string> = {}, method = "GET") {
  const { port } = server.address() as AddressInfo;
  return new Promise<Got>((resolve, reject) => {
    const request = sendRequest({ port, path: to, method, headers }, async (response) => {
      const body = Buffer.concat(await response.toArray());
      const isZipped = response.headers["content-encoding"] === "gzip" && !isBroken;
      const text = isZipped ? gunzipSync(body) : body;
      resolve({ status: response.statusCode ?? 0, text: text.toString() });
    });
    request.on("error", reject).end();
  });
}

const nonceless = ({ text }: Got) => text.replaceAll(/nonce="[^"]+"/g, "");
const nonceOf = ({ text }: Got) => /nonce="([^"]+)"/.exec(text)?.[1];

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());
beforeEach(() => {
  stored = { action: "Paid" };
  [asked, made, nowMs] = [[], [], 1];
  const load = async (given: string) => {
    asked.push(given);
    if (stored === null) throw new Error("not found");
    return structuredClone(stored);
  };
  const views = [
    { pattern: /^\/verify\/[^/]+\/([0-9a-f-]{36})$/, load },
    { pattern: /^\/$/, load },
  ];
  kept = createPageCache({ host: "localhost:3000", views, handedOver, nowMs: () => nowMs });
});
afterEach(() => {
  vi.useRealTimers();
  expect(handedOver.size).toBe(0);
});

it("verifies on every visit, renders once, and gives every answer a nonce of its own", async () => {
  const visits: Got[] = [];
  for (const headers of [
    { cookie: "session=secret", "user-agent": "a bot" },
    {},
    { "accept-encoding": "gzip" },
  ])
    visits.push(await ask(path, headers as Record<string, string>));
  expect(asked).toEqual([id, id, id]);
  expect(made).toHaveLength(1);
  expect(JSON.stringify(made)).not.toMatch(/session=secret|a bot/);
  expect(new Set(visits.map(nonceless)).size).toBe(1);
  expect(new Set(visits.map(nonceOf)).size).toBe(3);
  expect(visits[0]?.text).toContain("Paid");
  expect(await ask(path, {}, "HEAD")).toEqual({ status: 200, text: "" });
});

it("keeps nothing of an answer that is no whole page, and lives on", async () => {
  isBroken = true;
  await ask(path, { "accept-encoding": "gzip" });
  isBroken = false;
  expect((await ask(path)).text).toContain("Paid");
  expect(made).toHaveLength(2);
});

it("makes another page as soon as anything that the page is made from is another", async () => {
  await ask(path);
  stored = { action: null, status: "erased" };
  expect((await ask(path)).text).not.toContain("Paid");
  expect((await ask(path)).text).toContain("erased");
  expect(made).toHaveLength(2);
  stored = { action: "Paid" };
  expect((await ask(path)).text).toContain("Paid");
  expect(made).toHaveLength(3);
});

it("answers nothing from memory while the record can't be read, and hands over why", async () => {
  await ask(path);
  stored = null;
  expect((await ask(path)).status).toBe(404);
  expect((await ask(path)).status).toBe(404);
  stored = { action: "Paid" };
  await ask(path);
  expect(asked).toHaveLength(4);
  expect(made).toHaveLength(4);
});

it("keeps a page for a minute, and no longer in memory", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  await ask(path);
  nowMs = 59_000;
  await ask(path);
  expect(made).toHaveLength(1);
  nowMs = 61_000;
  await ask(path);
  expect(made).toHaveLength(2);
  nowMs = 122_000;
  vi.advanceTimersByTime(60_001);
  nowMs = 61_000;
  await ask(path);
  expect(made).toHaveLength(3);
});

it("loads again what was loaded long before the page's turn, and keeps no such page", async () => {
  waitMs = 1_001;
  whileWaiting = () => {
    stored = { status: "erased" };
  };
  expect((await ask(path)).text).toContain("erased");
  expect(asked).toHaveLength(2);
  whileWaiting = () => {};
  stored = { action: "Paid" };
  waitMs = 999;
  expect((await ask(path)).text).toContain("Paid");
  waitMs = 0;
  expect((await ask(path)).text).toContain("Paid");
  expect(made).toHaveLength(2);
});

it("keeps a page that shows always the same record, without a query alone", async () => {
  for (const target of ["/", "/", "/?demo=busy"]) await ask(target);
  expect(asked).toEqual(["", ""]);
  expect(made.map(({ url }) => url)).toEqual(["/", "/?demo=busy"]);
});

it("lets nobody outside name what is handed over", async () => {
  const loading = Promise.resolve("somebody else's");
  handedOver.set("guessed", { loading, sinceMs: 0, loadAgain: () => loading, isTaken: false });
  const answer = await ask(`${path}?a=b`, { [HANDED_OVER_HEADER]: "guessed" });
  handedOver.delete("guessed");
  expect(answer.text).toContain("nothing handed over");
});
