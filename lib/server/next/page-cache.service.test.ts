import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createNonceTemplate } from "./nonce-template";
import { createKeptPages } from "./page-cache";

const pages = createKeptPages("localhost:3000");
const seen: string[] = [];
let made = 0;
/** In Next's place: a page with everything that a visitor sends in it, if it sees any. */
const server = createServer((incoming, outgoing) => {
  if (pages.serve(incoming, outgoing)) return;
  made += 1;
  const nonce = `AAAA+BBBB/CCCCDDDDEEEE${String(made).padStart(2, "0")}`;
  seen.push(JSON.stringify([incoming.url, incoming.headers]));
  outgoing.setHeader("Content-Type", "text/html; charset=utf-8");
  outgoing.setHeader("Content-Security-Policy", `script-src 'nonce-${nonce}'`);
  outgoing.setHeader("Link", `<a>; nonce="${nonce}"`);
  outgoing.statusCode = incoming.url === "/docs/unknown" ? 404 : 200;
  outgoing.write(`<html><script nonce="${nonce}">é${"x".repeat(9_000)}</script>${incoming.headers.cookie}`);
  outgoing.end(`<script nonce="${nonce}"></script></html>`);
});

function ask(path: string, headers: Record<string, string> = {}, method = "GET") {
  const { port } = server.address() as AddressInfo;
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>(
    (resolve, reject) => {
      const request = sendRequest({ port, path, method, headers }, async (response) => {
        const body = Buffer.concat(await response.toArray());
        const isZipped = response.headers["content-encoding"] === "gzip" && body.length > 0;
        const text = (isZipped ? gunzipSync(body) : body).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
      request.on("error", reject).end();
    },
  );
}
const nonceOf = (headers: Record<string, unknown>) =>
  /'nonce-([^']+)'/.exec(String(headers["content-security-policy"]))?.[1] ?? "";

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

it("makes a page once for each theme, and gives every answer a nonce of its own", async () => {
  const first = await ask("/docs/api?from=a", {
    cookie: "session=secret",
    rsc: "1",
    "accept-encoding": "gzip",
  });
  expect(seen[0]).not.toMatch(/secret|rsc|from/);
  const nonces = new Set([nonceOf(first.headers)]);
  for (const headers of [{}, { "accept-encoding": "br, gzip" }, { rsc: "1", cookie: "a=b" }] as Record<
    string,
    string
  >[]) {
    const { status, headers: got, text } = await ask(`/docs/api?${nonces.size}`, headers);
    const nonce = nonceOf(got);
    expect([status, got["content-encoding"]]).toEqual([200, headers["accept-encoding"] && "gzip"]);
    expect(text).toBe(first.text.replaceAll(nonceOf(first.headers), nonce));
    expect(got["link"]).toBe(`<a>; nonce="${nonce}"`);
    expect(text.match(/nonce="([^"]+)"/g)).toEqual([`nonce="${nonce}"`, `nonce="${nonce}"`]);
    nonces.add(nonce);
  }
  expect(nonces.size).toBe(4);
  expect(made).toBe(1);
  expect((await ask("/docs/%61pi", { cookie: "theme=dark" })).text).toContain("theme=dark");
  expect((await ask("/docs/api", { cookie: "a=b; theme=dark" })).text).toContain("theme=dark");
  expect(made).toBe(2);
});

it("keeps what HEAD had made, and answers HEAD without a body", async () => {
  const before = made;
  expect((await ask("/docs", {}, "HEAD")).text).toBe("");
  expect((await ask("/docs")).text).toContain("</html>");
  const head = await ask("/docs", {}, "HEAD");
  expect([head.status, head.text, made]).toEqual([200, "", before + 1]);
});

it("keeps no error, and nothing else", async () => {
  const before = made;
  for (const path of ["/docs/unknown", "/verify/a/b", "/docs/a/b"]) {
    await ask(path);
    await ask(path);
  }
  expect(made).toBe(before + 6);
});

it("writes gzip that any reader takes, with nonces at either end too", () => {
  for (const text of ["NN", "NNaNN", "aNNbNNc", `${"lorem ".repeat(20_000)}NN${"lorem ".repeat(20_000)}`]) {
    const template = createNonceTemplate(text, "NN");
    expect(gunzipSync(template.gzip("other")).toString()).toBe(text.replaceAll("NN", "other"));
    expect(template.plain("other").toString()).toBe(text.replaceAll("NN", "other"));
  }
});
