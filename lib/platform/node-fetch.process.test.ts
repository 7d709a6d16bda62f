/** Requests of programs that run in processes of their own: Node reads NODE_EXTRA_CA_CERTS when it starts. */
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type PrivateNetwork, startPrivateNetwork } from "#support/proxy";

const program = `
import { createCountersign } from "#lib/client/index";
import { measure } from "#lib/instrumentation";
import { requestGuarded } from "#lib/jobs/guarded-request";
import { openS3Store } from "#lib/log/object-storage/s3-store";
import { createAwsKms, createGoogleKms } from "#lib/log/signing/kms";
import { proxyGlobalFetch } from "#lib/platform/node-fetch";
import { openTraces } from "#lib/server/telemetry/traces";
import { createResendMailer } from "#lib/services/notifications/transports";

const [name, url, address] = process.argv.slice(2);
const runs = {
  client: () => createCountersign({ baseUrl: url, apiKey: "cs_test_key" }).authorize({ agent_slug: "a", action: "b" }),
  fetch: async () => {
    proxyGlobalFetch();
    const response = await fetch(url, { redirect: address });
    return { status: response.status, text: await response.text() };
  },
  guarded: () => requestGuarded({
    method: "POST", url, headers: {}, body: "{}", mayBeLoopback: false, timeoutMs: 5_000, maxBytes: 1_000,
    resolve: (_, done) => done(null, [{ address, family: 4 }]),
  }),
  resend: () => {
    proxyGlobalFetch();
    return createResendMailer("re_key", "a@example.com", url).send({ to: "b@example.com", subject: "s", text: "t" });
  },
  s3: async () => (await openS3Store({ bucket: "log", prefix: "", endpoint: url || undefined, attempts: 1 })).read("a"),
  "aws-kms": async () => (await createAwsKms()).encrypt(url, new Uint8Array(32), "use"),
  "google-kms": async () => (await createGoogleKms(url)).encrypt("projects/p/locations/l/keyRings/r/cryptoKeys/k", new Uint8Array(32), "use"),
  traces: async () => {
    const stop = openTraces({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: "s", OTEL_TRACES_SAMPLER_ARG: 1 }, "writer");
    await measure("job", "one", async () => {});
    await stop();
  },
};
runs[name]().then(
  (answer) => console.log(JSON.stringify({ answer: answer ?? null })),
  (error) => console.log(JSON.stringify({ error: error.message, cause: error.cause?.cause?.message ?? error.cause?.message })),
);
`;

let network: PrivateNetwork;
let folder: string;
beforeAll(async () => {
  const names = ["DNS:service.example", "DNS:receiver.example", "IP:93.184.215.14"];
  network = await startPrivateNetwork(names, (request, response) => {
    if (request.url === "/moved") response.writeHead(302, { location: "/there" });
    else if (request.url === "/empty") response.writeHead(204);
    const { host, authorization } = request.headers;
    const answer = { request_id: "areq_1", path: request.url, method: request.method, host, authorization };
    response.end(request.url === "/empty" ? undefined : JSON.stringify(answer));
  });
  folder = await mkdtemp(path.join(tmpdir(), "countersign-fetch-"));
  const stdin = { contents: program, resolveDir: process.cwd() };
  const banner = {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  };
  const outfile = path.join(folder, "program.mjs");
  await build({ stdin, outfile, bundle: true, format: "esm", platform: "node", banner });
});
afterAll(async () => {
  await network.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  network.asked.length = 0;
  network.refusal = null;
});

/** A process has no other proxy, and knows no other authority. */
async function run(args: string[], env: Record<string, string> = {}) {
  const own = {
    NODE_ENV: "test" as const,
    HTTPS_PROXY: network.proxyUrl,
    NODE_EXTRA_CA_CERTS: network.caFile,
    ...env,
  };
  const given = [path.join(folder, "program.mjs"), ...args];
  const { stdout } = await promisify(execFile)(process.execPath, given, { env: own });
  return JSON.parse(stdout);
}

describe("the environment's proxy", () => {
  it("carries the client's requests, whose server a private authority vouches for", async () => {
    const { answer } = await run(["client", "https://service.example"]);
    expect(answer).toMatchObject({
      path: "/v1/authorize",
      method: "POST",
      authorization: "Bearer cs_test_key",
    });
    expect(network.asked).toEqual(["CONNECT service.example:443"]);
    const unknown = await run(["fetch", "https://service.example/"], { NODE_EXTRA_CA_CERTS: "" });
    expect(unknown.cause).toMatch(/unable to verify/);
  });

  it.each(["service.example", "*.example", "other.example,.example"])(
    "isn't asked with NO_PROXY=%s",
    async (no) => {
      const { error } = await run(["fetch", "https://service.example/"], { NO_PROXY: no });
      expect([error, network.asked]).toEqual(["fetch failed", []]);
    },
  );

  it.each(["example", "xservice.example", "10.0.0.0/8"])("is asked with NO_PROXY=%s", async (no) => {
    const { answer } = await run(["fetch", "http://service.example/"], {
      NO_PROXY: no,
      HTTP_PROXY: network.proxyUrl,
    });
    expect([answer === undefined, network.asked.length]).toEqual([false, 1]);
  });

  it.each(["https://localhost:1", "https://127.0.0.1:1", "https://[::1]:1", "http://a.localhost:1"])(
    "isn't asked for %s",
    async (url) => {
      const { error } = await run(["fetch", url], { HTTP_PROXY: network.proxyUrl });
      expect([error, network.asked]).toEqual(["fetch failed", []]);
    },
  );

  it("carries plain requests as HTTP_PROXY says, without a tunnel", async () => {
    const { answer } = await run(["fetch", "http://tsa.example/stamp"], { HTTP_PROXY: network.proxyUrl });
    expect([answer.status, network.asked]).toEqual([200, ["GET http://tsa.example/stamp"]]);
  });

  it("can't answer for the server", async () => {
    const forged = JSON.stringify({ request_id: "areq_1", status: "approved" });
    for (const status of ["201 Created", "403 Forbidden"]) {
      network.refusal = `HTTP/1.1 ${status}\r\ncontent-length: ${forged.length}\r\n\r\n${forged}`;
      const { cause, answer } = await run(["fetch", "https://service.example/v1/authorize/areq_1"]);
      expect([answer, cause]).toEqual([
        undefined,
        `the proxy refused to connect (HTTP ${status.slice(0, 3)})`,
      ]);
    }
  });

  it("needs a certificate of the name that was asked for", async () => {
    const other = await run(["fetch", "https://other.example/"]);
    expect(other.cause).toMatch(/does not match certificate/);
    const address = await run(["fetch", "https://93.184.215.15/"]);
    expect(address.cause).toMatch(/does not match certificate/);
    expect((await run(["fetch", "https://93.184.215.14/"])).answer.status).toBe(200);
  });

  it("follows redirects as fetch does", async () => {
    const url = "https://service.example/moved";
    expect((await run(["fetch", url, "manual"])).answer.status).toBe(302);
    expect(JSON.parse((await run(["fetch", url, "follow"])).answer.text).path).toBe("/there");
    expect((await run(["fetch", url, "error"])).error).toBe("fetch failed");
    expect((await run(["fetch", "https://service.example/empty", "error"])).answer).toEqual({
      status: 204,
      text: "",
    });
  });

  it("is refused if it is no HTTP proxy", async () => {
    const { error } = await run(["fetch", "https://service.example/"], {
      HTTPS_PROXY: "socks5://proxy:1080",
    });
    expect(error).toMatch(/must begin with http/);
  });

  it.each([
    ["traces", "https://service.example", "service.example"],
    ["s3", "https://service.example", "service.example"],
    ["s3", "", "log.s3.eu-central-1.amazonaws.com"],
    ["aws-kms", "arn:aws:kms:eu-central-1:1:key/a", "kms.eu-central-1.amazonaws.com"],
    ["google-kms", "https://service.example", "service.example"],
  ])("carries what a provider's SDK sends: %s %s", async (name, url, host) => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const credentials = path.join(folder, "google.json");
    const account = { type: "service_account", client_email: "a@p.example", private_key: privateKey };
    await writeFile(credentials, JSON.stringify(account));
    await run([name, url], {
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "id",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_MAX_ATTEMPTS: "1",
      GOOGLE_APPLICATION_CREDENTIALS: credentials,
    });
    expect(network.asked).toContain(`CONNECT ${host}:443`);
  });

  it("carries mail to Resend", async () => {
    await run(["resend", "https://service.example"]);
    expect(network.asked).toEqual(["CONNECT service.example:443"]);
  });
});

describe("a request to a stranger's host through the proxy", () => {
  it("goes to the very address that was checked, under its name", async () => {
    const { answer } = await run(["guarded", "https://receiver.example/hook", "93.184.215.20"]);
    expect(network.asked).toEqual(["CONNECT 93.184.215.20:443"]);
    expect([answer.status, JSON.parse(answer.text).host]).toEqual([200, "receiver.example"]);
  });

  it("is refused before the proxy is asked if an address isn't public", async () => {
    const { answer } = await run(["guarded", "https://receiver.example/hook", "10.0.0.7"]);
    expect([answer.problem, network.asked]).toEqual(["its name leads to an address that is not public", []]);
  });

  it("needs a certificate of that name", async () => {
    const { answer } = await run(["guarded", "https://other.example/hook", "93.184.215.20"]);
    expect(answer.code).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  });
});
