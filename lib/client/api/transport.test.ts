/** Retries, their pauses, and the errors thrown if the service doesn't answer as it should. */
import { describe, expect, it } from "vitest";
import { createCountersign } from "#lib/client/create";
import { describeError, errorNames } from "#lib/errors";
import { quietRuntime } from "#support/client";
import { ApiError, ConnectionError, CountersignError, problemCodes } from "./errors";
import { send } from "./transport";

const problem = (status: number, code: string, more: object = {}, headers: Record<string, string> = {}) =>
  Response.json({ code, detail: "why", request_id: "req_1", ...more }, { status, headers });
const broken = () => Promise.reject(new TypeError("fetch failed"));
const request = { agent_slug: "a", action: "b", inputs_hash: "c" };

/** A client whose service gives these answers, one after the other, and then that it is done. */
function clientWith(...answers: (() => Promise<Response> | Response)[]) {
  const sent: { url: string; init: RequestInit }[] = [];
  const { slept, sleep } = quietRuntime();
  const client = createCountersign({
    baseUrl: "https://countersign.example/",
    apiKey: "cs_live_x",
    fetch: async (url, init) => {
      sent.push({ url, init });
      return (answers.shift() ?? (() => Response.json({ attestation_id: "done" })))();
    },
    runtime: { sleep, random: () => 0, randomUuid: () => "one-key" },
  });
  return { client, sent, slept };
}

const keysOf = (sent: { init: RequestInit }[]) =>
  sent.map(({ init }) => new Headers(init.headers).get("idempotency-key"));
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => error,
  );

describe("a request", () => {
  it("goes to the service alone, with the key, and follows nothing elsewhere", async () => {
    const { client, sent } = clientWith();
    await client.attest(request);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.url).toBe("https://countersign.example/v1/attest");
    expect(sent[0]?.init).toMatchObject({
      method: "POST",
      redirect: "manual",
      body: JSON.stringify(request),
    });
    expect(new Headers(sent[0]?.init.headers).get("authorization")).toBe("Bearer cs_live_x");
  });

  it("is repeated under one key if the connection breaks or the service is busy, with growing pauses", async () => {
    const { client, sent, slept } = clientWith(
      broken,
      () => problem(503, "service_unavailable"),
      () => problem(500, "server_error"),
      () => problem(409, "idempotency_conflict"),
    );
    expect(await client.attest(request)).toEqual({ attestation_id: "done" });
    expect(keysOf(sent)).toEqual(Array(5).fill("one-key"));
    expect(slept).toEqual([250, 500, 1000, 2000]);
  });

  it("has the caller's key, if there is one", async () => {
    const { client, sent } = clientWith(broken);
    await client.authorize({ agent_slug: "a", action: "b" }, { idempotencyKey: "mine" });
    expect(keysOf(sent)).toEqual(["mine", "mine"]);
  });

  it("waits as long as the service asks, and not for hours", async () => {
    const patient = clientWith(() => problem(429, "rate_limit_exceeded", {}, { "retry-after": "7" }));
    await patient.client.attest(request);
    expect(patient.slept).toEqual([7000]);
    const { client, sent } = clientWith(() =>
      problem(429, "daily_limit_exceeded", {}, { "retry-after": "3600" }),
    );
    const error = await failureOf(client.attest(request));
    expect(error).toMatchObject({ code: "daily_limit_exceeded", retryAfterSeconds: 3600, retryable: true });
    expect(sent).toHaveLength(1);
  });

  it("is the same at each try, whatever becomes of what was given", async () => {
    const { client, sent } = clientWith(broken);
    const reused = { ...request };
    const made = client.attest(reused);
    reused.action = "another";
    await made;
    expect(sent.map(({ init }) => init.body)).toEqual(Array(2).fill(JSON.stringify(request)));
  });

  it.each([
    ["a body that is no JSON", { metadata: { n: 1n } as never }, "key", /BigInt/],
    ["a key that is no header", {}, "“key”", /^idempotencyKey: expected printable ASCII$/],
    ["a key of two lines", {}, "a\nb", /^idempotencyKey: expected printable ASCII$/],
  ])("is not sent, and no lost connection, with %s", async (_, more, idempotencyKey, message) => {
    const { client, sent, slept } = clientWith();
    const error = await failureOf(client.attest({ ...request, ...more }, { idempotencyKey }));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
    expect([sent, slept]).toEqual([[], []]);
  });

  it("calls the given fetch as browsers want theirs called", async () => {
    const callers: unknown[] = [];
    async function fetch(this: unknown) {
      callers.push(this);
      return Response.json({});
    }
    await createCountersign({ baseUrl: "https://countersign.example", fetch }).attest(request);
    expect(callers).toEqual([undefined]);
  });

  it.each([
    ["connect ECONNREFUSED 127.0.0.1:3000", new Error("connect ECONNREFUSED 127.0.0.1:3000")],
    ["ECONNREFUSED", Object.assign(new AggregateError([]), { code: "ECONNREFUSED" })],
  ])("says why it is lost: %s", async (why, cause) => {
    const { client } = clientWith(
      ...Array(5).fill(() => Promise.reject(new TypeError("fetch failed", { cause }))),
    );
    const error = await failureOf(client.attest(request));
    expect((error as Error).message).toMatch(new RegExp(`: no answer \\(fetch failed: ${why}\\)$`));
  });

  it("is given up after five tries", async () => {
    const { client, sent } = clientWith(...Array(9).fill(broken));
    const error = await failureOf(client.attest(request));
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).cause).toEqual(new TypeError("fetch failed"));
    expect(sent).toHaveLength(5);
  });

  it("is sent once if it changes something and has no key", async () => {
    let count = 0;
    const fetch = () => {
      count += 1;
      return broken();
    };
    const runtime = { ...quietRuntime(), randomUuid: () => "", now: () => new Date(0) };
    const service = { ...runtime, fetch, baseUrl: "https://countersign.example", apiKey: undefined };
    const path = "/v1/keys/verify?run=its-run";
    const error = await failureOf(send(service, { method: "POST", path }));
    expect(error).toEqual(
      new ConnectionError("POST https://countersign.example/v1/keys/verify: no answer (fetch failed)"),
    );
    expect(count).toBe(1);
    await failureOf(send(service, { method: "GET", path }));
    expect(count).toBe(6);
  });

  it("is not repeated if the service refused it", async () => {
    const errors = [{ pointer: "/action", message: "must be 1-1000 characters" }];
    for (const [status, code] of [
      [400, "bad_request"],
      [401, "invalid_api_key"],
      [403, "insufficient_scope"],
      [409, "too_many_pending"],
      [422, "validation_error"],
    ] as const) {
      const { client, sent } = clientWith(() => problem(status, code, { errors }));
      const error = await failureOf(client.attest(request));
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({
        status,
        code,
        detail: "why",
        requestId: "req_1",
        errors,
        retryable: false,
      });
      expect(sent).toHaveLength(1);
    }
  });

  it("fails with an error of the client for answers that no service of ours gives", async () => {
    const page = () => new Response("<h1>Bad gateway</h1>", { status: 404 });
    expect(await failureOf(clientWith(page).client.attest(request))).toMatchObject({
      code: "unknown",
      status: 404,
    });
    const away = () => new Response(null, { status: 302, headers: { location: "https://evil.example" } });
    expect(await failureOf(clientWith(away).client.attest(request))).toMatchObject({ status: 302 });
    const noJson = clientWith(...Array(5).fill(() => new Response("ok")));
    expect(await failureOf(noJson.client.attest(request))).toBeInstanceOf(ConnectionError);
  });

  it("ends with the caller's own reason when it is aborted", async () => {
    const { client, sent } = clientWith();
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(client.attest(request, { signal })).rejects.toThrow("enough");
    expect(sent).toHaveLength(0);
    const controller = new AbortController();
    const pausing = clientWith(() => {
      controller.abort(new Error("enough"));
      return broken();
    });
    await expect(pausing.client.attest(request, { signal: controller.signal })).rejects.toThrow("enough");
    expect(pausing.sent).toHaveLength(1);
  });
});

describe("waiting for a decision", () => {
  const state = (status: string, more: object = {}) => Response.json({ status, revoked_at: null, ...more });

  it("asks again after the pause that the service names, for as long as it takes", async () => {
    const pending = () => Response.json({ status: "pending" }, { headers: { "retry-after": "3" } });
    const { client, sent, slept } = clientWith(...Array(50).fill(pending), broken, pending, () =>
      state("approved", { human_authorization: { type: "human_authorization" } }),
    );
    const decision = await client.waitForDecision("areq_1");
    expect(decision.human_authorization).toEqual({ type: "human_authorization" });
    expect(sent[0]?.url).toBe("https://countersign.example/v1/authorize/areq_1?wait=25");
    expect(slept).toEqual([...Array(50).fill(3000), 250, 3000]);
  });

  it.each(["denied", "expired", "cancelled"])(
    "throws what must not be retried if it is %s",
    async (status) => {
      const { client } = clientWith(() => state(status, { guidance: "Stop." }));
      const error = await failureOf(client.waitForDecision("areq_1"));
      expect(error).toBeInstanceOf(CountersignError);
      expect(error).toMatchObject({ name: "NotApprovedError", status, retryable: false, message: "Stop." });
    },
  );

  it("takes an approval whose object was erased for one that was used", async () => {
    const { client } = clientWith(() => state("approved"));
    const error = await failureOf(client.waitForDecision("areq_1"));
    expect(error).toMatchObject({ name: "ApprovalUsedError", attestationId: null });
  });

  it("asks for the request that was named, whatever its id looks like", async () => {
    const { client, sent } = clientWith(() => state("denied"));
    await failureOf(client.waitForDecision("../attest?x"));
    expect(sent[0]?.url).toBe("https://countersign.example/v1/authorize/..%2Fattest%3Fx?wait=25");
  });
});

describe("the service's address", () => {
  it.each([
    "http://countersign.example",
    "ftp://localhost",
    "countersign.example",
    "",
    "https://a:b@c.example",
  ])("is not %s", (baseUrl) => {
    expect(() => createCountersign({ baseUrl })).toThrow(/^baseUrl/);
  });

  it("is taken with the line break or space of where it was kept", async () => {
    const urls: string[] = [];
    const fetch = async (url: string) => {
      urls.push(url);
      return Response.json({});
    };
    await createCountersign({ baseUrl: " https://countersign.example/ \n", fetch }).attest(request);
    expect(urls).toEqual(["https://countersign.example/v1/attest"]);
  });

  it.each(["https://countersign.example", "http://localhost:3000/", "http://127.0.0.1:3000"])(
    "can be %s",
    (baseUrl) => expect(createCountersign({ baseUrl })).toBeDefined(),
  );
});

describe("the API key", () => {
  const open = (apiKey: string, fetch = async () => Response.json({})) =>
    createCountersign({ baseUrl: "https://countersign.example", apiKey, fetch });

  it.each(["", " \n", "cs_live_a\nb", "“cs_live_x”"])("is not %j, which no error shows", (apiKey) => {
    expect(() => open(apiKey)).toThrow(/^apiKey: expected printable ASCII$/);
  });

  it("is taken with the line break of its file", async () => {
    const keys: unknown[] = [];
    const fetch = async (_url?: string, init?: RequestInit) => {
      keys.push(new Map(Object.entries(init?.headers ?? {})).get("authorization"));
      return Response.json({});
    };
    await open("cs_live_x\n", fetch).attest(request);
    expect(keys).toEqual(["Bearer cs_live_x"]);
  });
});

it("knows every code that the service answers with, and no other", () => {
  expect([...problemCodes].sort()).toEqual(
    [...new Set(errorNames.map((name) => describeError(name).code))].sort(),
  );
});
