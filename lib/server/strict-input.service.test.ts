/** JSON that must be refused (docs/wire.md, Conventions), also over a real socket. */
import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handleApiRequest } from "#lib/server/next/node-http";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const fields = '"agent_slug":"strict","action":"a","inputs_hash":"b"';
const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

const { test, key } = setupTestApp(anyKind, {
  LIMIT_ATTEST_PER_MINUTE: "10000",
  LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "10000",
});
let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer((incoming, outgoing) => void handleApiRequest(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const refused: [string, string | Uint8Array, number][] = [
  ["nothing", "", 400],
  ["white space", "  ", 400],
  ["text", "hello", 400],
  ["a number", "1", 400],
  ["null", "null", 400],
  ["an array", "[]", 400],
  ["text after the value", `{${fields}} x`, 400],
  ["a second value", `{${fields}}{}`, 400],
  ["a comment", `{${fields}/**/}`, 400],
  ["a trailing comma", `{${fields},}`, 400],
  ["a byte order mark", `\ufeff{${fields}}`, 400],
  ["invalid UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
  ["UTF-16", new Uint8Array(Buffer.from(`{${fields}}`, "utf16le")), 400],
  ["a duplicate name", `{${fields},"action":"c"}`, 400],
  ["a duplicate name in another spelling", `{${fields},"acti\\u006fn":"c"}`, 400],
  ["a duplicate name deep down", `{${fields},"metadata":{"a":[{"b":1,"b":1}]}}`, 400],
  ["__proto__", `{${fields},"__proto__":{"is_public":false}}`, 400],
  ["__proto__ deep down", `{${fields},"metadata":{"a":{"__proto__":1}}}`, 400],
  ["a lone surrogate", `{${fields},"metadata":{"a":"\\ud800"}}`, 400],
  ["a lone surrogate in a name", `{${fields},"metadata":{"\\udfff":1}}`, 400],
  ["surrogates the wrong way round", `{${fields},"metadata":{"a":"\\ude00\\ud83d"}}`, 400],
  ["1e400", `{${fields},"metadata":{"a":1e400}}`, 400],
  ["2^53+1", `{${fields},"metadata":{"a":9007199254740993}}`, 400],
  ["-2^53-1", `{${fields},"metadata":{"a":-9007199254740993}}`, 400],
  ["what a double has exactly, and prints otherwise", `{${fields},"metadata":{"a":175718449568167168}}`, 400],
  ["a fraction that a double rounds", `{${fields},"metadata":{"a":[1234567890123456.78]}}`, 400],
  ["a number that a double has as zero", `{${fields},"metadata":{"a":1e-400}}`, 400],
  ["an exponent of ten digits", `{${fields},"metadata":{"a":1e9999999999}}`, 400],
  [
    "a rounded number in an authorization",
    `{${fields},"human_authorization":{"version":1.00000000000000001}}`,
    400,
  ],
  [
    "a rounded number where a number is asked for",
    `{${fields},"expires_in_minutes":29.9999999999999999999}`,
    400,
  ],
  ["NaN", `{${fields},"metadata":{"a":NaN}}`, 400],
  ["depth 33", `{${fields},"metadata":${deep(32)}}`, 400],
  ["depth 10,000", deep(10_000), 400],
  ["brackets that never close", "[".repeat(60_000), 400],
  ["metadata of 17 levels", `{${fields},"metadata":${deep(17)}}`, 422],
  ["constructor as an unknown field", `{${fields},"constructor":1}`, 422],
  ["10,000 unknown fields", `{${Array.from({ length: 6000 }, (_, i) => `"x${i}":1`).join()}}`, 422],
  ["an unknown field of 60 KB", `{${fields},"${"n".repeat(60_000)}":1}`, 422],
  ["65 KB", `{${fields},"metadata":{"a":"${"x".repeat(65_536)}"}}`, 413],
];

describe("strict input", () => {
  it("refuses each by the right status, shortly, and writes nothing", async () => {
    const count = async () => (await test.query("SELECT 1 FROM log_leaves", [])).rows.length;
    const before = await count();
    for (const [name, rawBody, expected] of refused) {
      const { status, body, headers } = await test.call("POST", "/v1/attest", { key, rawBody });
      expect([name, status]).toEqual([name, expected]);
      expect(headers.get("content-type")).toBe("application/problem+json");
      expect(body.status).toBe(expected);
      expect(JSON.stringify(body).length).toBeLessThan(5000);
      for (const path of ["/v1/keys/request", "/v1/keys/verify"]) {
        const other = await test.call("POST", path, { rawBody });
        expect([name, path, other.status]).toEqual([
          name,
          path,
          expected === 413 ? 413 : expect.toBeOneOf([400, 422]),
        ]);
      }
    }
    expect(await count()).toBe(before);
  });

  it("takes what is unusual and right", async () => {
    const unusual = [
      `\n\t{${fields},"metadata":{"a":9007199254740991,"b":-0,"c":1e-7,"":"","\\ud83d\\ude00":"\u2028"}}\r\n`,
      `{${fields},"metadata":{"a":[1e22,1E30,1.0,-0,-0.0e5,100e-2,9007199254740992,5e-324,0.1,1.7976931348623157e308]}}`,
      `{${fields},"metadata":{"constructor":1,"toString":2,"hasOwnProperty":{}}}`,
    ];
    for (const rawBody of unusual) {
      const { status, body } = await test.call("POST", "/v1/attest", { key, rawBody });
      expect([rawBody, status]).toEqual([rawBody, 201]);
      expect((await test.call("GET", `/v1/verify/${body.attestation_id}`)).body.valid).toBe(true);
    }
  });

  it("refuses wrong query strings by 400", async () => {
    for (const query of [
      "limit=0",
      "limit=101",
      "limit=x",
      "limit=1.5",
      "limit=1&limit=2",
      "cursor=x",
      `cursor=${"a".repeat(300)}`,
      "limt=1",
      "__proto__=1",
    ]) {
      const { status, body } = await test.call("GET", `/v1/agent/strict?${query}`);
      expect([query, status, body.code]).toEqual([query, 400, "bad_request"]);
    }
  });
});

interface Answer {
  status: number;
  text: string;
}

function send(headers: Record<string, string>, chunks: string[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ port, method: "POST", path: "/v1/keys/request", headers }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject);
    for (const chunk of chunks) outgoing.write(chunk);
    outgoing.end();
  });
}

describe("a body over a socket", () => {
  it("gets its 413 whole, declared or counted as it streams in", async () => {
    const mebibyte = "x".repeat(2 ** 20);
    const declared = await send({ "content-length": String(4 * 2 ** 20) }, [
      mebibyte,
      mebibyte,
      mebibyte,
      mebibyte,
    ]);
    expect([declared.status, JSON.parse(declared.text).code]).toEqual([413, "payload_too_large"]);
    const streamed = await send({ "transfer-encoding": "chunked" }, [mebibyte, mebibyte]);
    expect([streamed.status, JSON.parse(streamed.text).code]).toEqual([413, "payload_too_large"]);
  });

  it("may lie about its length without harm", async () => {
    const { status } = await send({ "content-length": "2" }, ["{}"]);
    expect(status).toBe(422);
  });

  it("that breaks off leaves the server well", async () => {
    await new Promise<void>((resolve) => {
      const outgoing = httpRequest({
        port,
        method: "POST",
        path: "/v1/keys/request",
        headers: { "content-length": "100" },
      });
      outgoing.on("error", () => resolve());
      outgoing.write("{", () => outgoing.destroy());
    });
    expect((await send({}, ['{"email":"x"}'])).status).toBe(422);
  });
});
