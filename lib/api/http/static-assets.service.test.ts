import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { everywhere } from "./security-headers";
import { loadStaticAssets } from "./static-assets";

const script = "console.log('an asset')";
let folder = "";
const server = createServer();

/** 418: left to Next. */
function ask(url: string, { method = "GET", accepts = "gzip, deflate, br" } = {}) {
  const { port } = server.address() as AddressInfo;
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const headers = { "accept-encoding": accepts };
      const request = sendRequest({ port, path: url, method, headers }, async (response) => {
        const chunks = await response.toArray();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
      request.on("error", reject).end();
    },
  );
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "countersign-assets-"));
  await mkdir(path.join(folder, "chunks"));
  for (const name of ["a.js", "a.css", "secret.json"])
    await writeFile(path.join(folder, "chunks", `${name}.br`), brotliCompressSync(script));
  await writeFile(path.join(folder, "chunks", "plain.js"), script);
  const serve = await loadStaticAssets(folder);
  server.on("request", (incoming, outgoing) => {
    if (!serve(incoming, outgoing)) outgoing.writeHead(418).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

it("answers what the build compressed, cached permanently and with the headers of everything else", async () => {
  for (const [name, type] of [
    ["a.js", "text/javascript; charset=utf-8"],
    ["a.css", "text/css; charset=utf-8"],
  ]) {
    const { status, headers, body } = await ask(`/_next/static/chunks/${name}?dpl=1`);
    expect(status).toBe(200);
    expect(brotliDecompressSync(body).toString()).toBe(script);
    expect(headers).toMatchObject({
      "content-type": type,
      "content-encoding": "br",
      "content-length": String(body.length),
      "cache-control": "public, max-age=31536000, immutable",
      vary: "Accept-Encoding",
    });
    for (const [key, value] of Object.entries(everywhere)) expect(headers[key.toLowerCase()]).toBe(value);
  }
  const head = await ask("/_next/static/chunks/a.js", { method: "HEAD" });
  expect([head.status, head.body.length, Number(head.headers["content-length"]) > 0]).toEqual([200, 0, true]);
});

it("leaves to Next what is no such file, no read, or asked for without brotli", async () => {
  for (const url of [
    "/",
    "/_next/static/chunks/plain.js",
    "/_next/static/chunks/a.js.br",
    "/_next/static/chunks/secret.json",
    "/_next/static/../chunks/a.js",
    "/chunks/a.js",
  ])
    expect((await ask(url)).status, url).toBe(418);
  const url = "/_next/static/chunks/a.js";
  expect((await ask(url, { method: "POST" })).status).toBe(418);
  for (const accepts of ["", "gzip", "br;q=0", "gzip, BR; q=0.000", "brother"])
    expect((await ask(url, { accepts })).status, accepts).toBe(418);
  for (const accepts of ["br", "gzip;q=0.5, br;q=0.1", "BR"])
    expect((await ask(url, { accepts })).status, accepts).toBe(200);
});
