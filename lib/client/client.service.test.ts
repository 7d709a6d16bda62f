/** The client against the service. */
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { AgentKey } from "#lib/client/api/inputs";
import type { Attestation } from "#lib/client/api/wire";
import { clientOf, type Fetch, fetchFrom } from "#support/client";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import type { Countersign } from "./create";

const request = { agent_slug: "field-bot", action: "Paid", inputs_hash: "sha256:abc" };

describe("the client", () => {
  const { test, key } = setupTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "1000" });
  let client: Countersign;
  beforeAll(async () => {
    client = clientOf(test, key);
  });

  it("attests, and under one key only once", async () => {
    const options = { idempotencyKey: "once" };
    const made = await client.attest({ ...request, metadata: { n: 1 } }, options);
    expect(made).toMatchObject({ ...request, metadata: { n: 1 }, is_public: true });
    expect(await client.attest({ ...request, metadata: { n: 1 } }, options)).toEqual(made);
    expect((await client.attest(request)).attestation_id).not.toBe(made.attestation_id);
    await expect(client.attest(request, options)).rejects.toMatchObject({ code: "idempotency_key_reused" });
  });

  it("attests many, a result for each in their order, and under one key only once", async () => {
    const requests = Array.from({ length: 103 }, (_, n) => ({
      ...{ ...request, agent_slug: "many-bot", action: n === 101 ? "" : `step ${n}` },
    }));
    const options = { idempotencyKey: "many" };
    const results = await client.attestMany(requests, options);
    const made = results.map((one) => (one.status === "fulfilled" ? one.value.record?.sequence : null));
    expect(made).toEqual([...Array.from({ length: 101 }, (_, n) => n + 1), null, 102]);
    expect(results[101]).toMatchObject({ reason: { code: "validation_error", status: 422 } });
    expect(await client.attestMany(requests, options)).toEqual([
      ...results.slice(0, 101),
      { status: "rejected", reason: expect.anything() },
      results[102],
    ]);
    await expect(client.attestMany(requests, { allOrNothing: true })).rejects.toThrow(/at most 100/);
    const none = await client.attestMany(requests.slice(100), { allOrNothing: true });
    expect(none.map((one) => one.status === "rejected" && one.reason.code)).toEqual([
      "batch_refused",
      "validation_error",
      "batch_refused",
    ]);
  });

  it("records what was added to a list under its key, and none of it twice", async () => {
    const make = (length: number) =>
      Array.from({ length }, (_, n) => ({ ...request, agent_slug: "growing-bot", action: `step ${n}` }));
    const attestMany = async (length: number) => {
      const results = await client.attestMany(make(length), { idempotencyKey: "growing" });
      return results.map((one) => (one.status === "fulfilled" ? one.value.record?.sequence : null));
    };
    const count = (length: number) => Array.from({ length }, (_, n) => n + 1);
    expect(await attestMany(100)).toEqual(count(100));
    expect(await attestMany(105)).toEqual(count(105));
    await expect(attestMany(99)).rejects.toMatchObject({ code: "idempotency_key_reused" });
  });

  it("gives the receipts of a list's first batches if a later one fails, and the rest under the same key", async () => {
    let sent = 0;
    const fetch: Fetch = async (url, init) => {
      sent += 1;
      if (sent > 1) throw new TypeError("fetch failed");
      return fetchFrom(test)(url, init);
    };
    const step = { ...request, agent_slug: "cut-bot" };
    const requests = Array.from({ length: 201 }, (_, n) => ({ ...step, action: `step ${n}` }));
    const options = { idempotencyKey: "cut" };
    const results = await clientOf(test, key, fetch).attestMany(requests, options);
    expect(results.map((one) => one.status === "fulfilled" && one.value.record?.sequence)).toEqual([
      ...Array.from({ length: 100 }, (_, n) => n + 1),
      ...Array.from({ length: 101 }, () => false),
    ]);
    expect(results[200]).toMatchObject({ reason: { name: "ConnectionError" } });
    const again = await client.attestMany(requests, options);
    expect(again.slice(0, 100)).toEqual(results.slice(0, 100));
    expect(again[200]).toMatchObject({ value: { record: { sequence: 201 } } });
    await expect(clientOf(test, key, fetch).attestMany(requests)).rejects.toThrow(/no answer/);
    const stopped = new AbortController();
    const stopping: Fetch = async (url, init) => {
      const response = await fetchFrom(test)(url, init);
      stopped.abort(new Error("stopped"));
      return response;
    };
    const { signal } = stopped;
    await expect(clientOf(test, key, stopping).attestMany(requests, { signal })).rejects.toThrow("stopped");
  });

  it("counts what it attests, so that what never arrived shows in the next", async () => {
    // The third attestation is lost on every attempt; of the fourth only the first response.
    let attempts = 0;
    const fetch: Fetch = async (url, init) => {
      const isLost = String(init.body).includes('"action":"Lost"');
      if (isLost) throw new TypeError("fetch failed");
      const response = await fetchFrom(test)(url, init);
      attempts += 1;
      if (attempts !== 3) return response;
      await response.body?.cancel();
      throw new TypeError("terminated");
    };
    const attest = clientOf(test, key, fetch).counting("worker-1");
    const made = await Promise.allSettled(
      ["One", "Two", "Lost", "Four", "Five"].map((action) => attest({ ...request, action })),
    );
    expect(made.map((one) => (one.status === "fulfilled" ? one.value.client_gap : "lost"))).toEqual([
      false,
      false,
      "lost",
      true,
      false,
    ]);
    const other = await attest({ ...request, agent_slug: "other-field-bot" });
    expect([other.client, other.client_gap]).toEqual([{ instance: "worker-1", sequence: 1 }, false]);
    const fresh = await client.counting()({ ...request, agent_slug: "Field-bot" });
    expect([fresh.client?.sequence, fresh.client_gap]).toEqual([1, false]);
  });

  it("keeps the number of a call that is repeated under its key, whether it or its answer was lost", async () => {
    let lost: "request" | "answer" | "nothing" = "nothing";
    const fetch: Fetch = async (url, init) => {
      if (lost === "request") throw new TypeError("fetch failed");
      const response = await fetchFrom(test)(url, init);
      if (lost === "nothing") return response;
      await response.body?.cancel();
      throw new TypeError("terminated");
    };
    const attest = clientOf(test, key, fetch).counting("worker-2");
    const attestOnce = (idempotencyKey: string, more = {}) =>
      attest({ ...request, agent_slug: "repeating-bot", ...more }, { idempotencyKey });
    const numbers = [];
    for (lost of ["request", "answer"] as const) {
      const own = `lost ${lost}`;
      await expect(attestOnce(own)).rejects.toThrow();
      lost = "nothing";
      const { client: counted, client_gap } = await attestOnce(own);
      numbers.push([counted?.sequence, client_gap]);
    }
    await expect(attestOnce("refused", { action: "" })).rejects.toMatchObject({ status: 422 });
    const later = await attestOnce("refused");
    numbers.push([later.client?.sequence, later.client_gap]);
    expect(numbers, "the service has seen what it refused").toEqual([
      [1, false],
      [2, false],
      [4, true],
    ]);
  });

  it("names the field that is wrong", async () => {
    await expect(client.attest({ ...request, action: "" })).rejects.toMatchObject({
      code: "validation_error",
      errors: [{ pointer: "/action", message: "must be 1-1000 characters" }],
    });
  });

  it("signs as the agent with a key in any form", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const pem = String(privateKey.export({ format: "pem", type: "pkcs8" }));
    const seed = Buffer.from(String(privateKey.export({ format: "jwk" }).d), "base64url");
    const identity = {
      slug: "signing-bot",
      public_key_pem: publicKey.export({ format: "pem", type: "spki" }),
    };
    expect((await test.call("POST", "/v1/identity/register", { key, body: identity })).status).toBe(201);
    const keys: AgentKey[] = [
      pem,
      seed.toString("base64"),
      new Uint8Array(seed),
      async (message) => new Uint8Array(sign(null, message, createPrivateKey(pem))),
    ];
    for (const [nonce, agentKey] of keys.entries()) {
      const body = {
        ...request,
        agent_slug: "signing-bot",
        metadata: { nonce },
        code_hash: undefined,
        model_id: null,
      };
      expect(await client.attest(body, { agentKey })).toMatchObject({ agent_authenticated: true });
    }
    const signed = await client.signAgentRequest({ ...request, agent_slug: "signing-bot" }, pem);
    expect(await client.attest({ ...signed, action: "Paid more" })).toMatchObject({
      agent_authenticated: false,
    });
  });

  it("shows nothing of a key that it cannot read", async () => {
    const made = client.signAgentRequest(
      request,
      "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----",
    );
    const error = await made.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toContain("c2VjcmV0");
  });

  describe("verifies by itself", () => {
    let made: Attestation;
    beforeAll(async () => {
      made = await client.attest(request);
    });

    it("by id, and says that the keys are the service's own", async () => {
      const report = await client.verify(made.attestation_id);
      expect(report).toMatchObject({ kind: "attestation", verdict: "valid", pinned: false, warnings: [] });
      expect(report.statement?.predicate.request["action"]).toBe("Paid");
    });

    it("a receipt at hand, with pinned keys, without asking anybody", async () => {
      const pubkey = (await test.call("GET", "/v1/pubkey")).body;
      const offline = clientOf(test, key, () => Promise.reject(new Error("asked")));
      expect(await offline.verify(made, { keys: { pubkey } })).toMatchObject({
        verdict: "valid",
        pinned: true,
      });
      const text = JSON.stringify({ ...made, action: "Paid nothing" });
      expect(await offline.verify(text, { keys: { pubkey } })).toMatchObject({ verdict: "invalid" });
    });

    it("what was asked for, and not what the service answers instead", async () => {
      const { attestation_id } = await client.attest(request);
      const honest = fetchFrom(test);
      const swapping = clientOf(test, key, (url, init) =>
        honest(url.replace(attestation_id, made.attestation_id), init),
      );
      expect(await swapping.verify(attestation_id)).toMatchObject({ verdict: "invalid" });
    });
  });
});
