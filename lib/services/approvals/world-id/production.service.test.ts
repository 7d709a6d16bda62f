/**
 * World ID proper: version 4, the key from the settings, roots and keys from the chain, the portal as a further
 * witness.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { rememberPeer } from "#lib/api/http/rate-limit";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import { serveStandIn } from "#lib/server/emulators";
import { createRetries } from "#lib/services/approvals/world-id/submissions";
import { startTestApp, type TestApp } from "#support/app";
import { type AskedRequest, ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { makeV4Result, startWorldStub, type WorldStub } from "#support/world";

/** The request's state after this proof was taken. */
async function stateAfter(asked: AskedRequest, result: object): Promise<string> {
  expect((await asked.submit(result)).status).toBe(200);
  return (await asked.read()).body.status;
}

describe("World ID in production", () => {
  let test: TestApp;
  let stub: WorldStub;
  let key: string;
  beforeAll(async () => {
    stub = await startWorldStub();
    test = await startTestApp(anyKind, stub.settings);
    ({ key } = await test.createKey());
  });
  afterEach(() => {
    stub.reply = undefined;
  });
  afterAll(async () => {
    await test.close();
    await stub.close();
  });

  it("approves, anchors, and grades the proof as proven without any TEST mark", async () => {
    const asked = await ask(test, key, { required_level: "orb" });
    const start = await asked.start();
    expect(start).toMatchObject({
      ...{ app_id: "app_test", environment: "production" },
      ...{ preset: "proof_of_human", fallback: null, allow_legacy_proofs: true },
    });
    expect(start).not.toHaveProperty("bridge_url");
    expect(await stateAfter(asked, makeV4Result(start, 21n))).toBe("approved");
    const { human_authorization } = (await asked.read()).body;
    expect(human_authorization.approvals[0]).toMatchObject({
      environment: "production",
      protocol_version: "4.0",
      level: "proof_of_human",
      verified_by: ["groth16-local", "world-portal-v4", "world-chain"],
      anchor: { chain_id: 480, block_number: 16, root: wordHex(1000n) },
    });
    const sent = stub.asked.at(-1);
    expect(sent).toMatchObject({ environment: "production", action: start.action });
    expect(sent?.responses[0]?.signal_hash).toBe(human_authorization.binding.signal_hash);
    const body = {
      agent_slug: "treasurer",
      action: asked.made.action,
      inputs_hash: "x",
      human_authorization,
    };
    const made = await test.call("POST", "/v1/attest", { key, body });
    const verified = await test.call("GET", `/v1/verify/${made.body.attestation_id}`);
    expect(verified.body.valid).toBe(true);
    const check = verified.body.checks.find(({ name }: { name: string }) => name === "human_authorization");
    expect(check).toMatchObject({ status: "pass", detail: "Proof of personhood" });
  });

  it("refuses a valid pairing under a foreign root, another signal, another RP's nonce, while the portal says yes", async () => {
    const asked = await ask(test, key);
    const cases: [(start: Awaited<ReturnType<typeof asked.start>>) => object, RegExp][] = [
      [(start) => makeV4Result(start, 21n, 5n), /root is no valid root/],
      [
        (start) => makeV4Result(start, 21n, 1000n, `0x${"ab".repeat(32)}`),
        /does not verify over this request/,
      ],
      [(start) => ({ ...makeV4Result(start, 21n), action: "authz-other" }), /another action/],
      [(start) => ({ ...makeV4Result(start, 21n), environment: "staging" }), /another World ID environment/],
      [
        (start) => {
          const created_at = start.rp_context.created_at - 3600;
          return makeV4Result({ ...start, rp_context: { ...start.rp_context, created_at } }, 21n);
        },
        /credential may have expired/,
      ],
      [
        (start) => {
          const proven = { ...start, rp_context: { ...start.rp_context, nonce: wordHex(9n) } };
          return { ...makeV4Result(proven, 21n), nonce: start.rp_context.nonce };
        },
        /does not verify over this request/,
      ],
    ];
    for (const [make, words] of cases) {
      const answer = await asked.submit(make(await asked.start()));
      expect([answer.status, answer.body.code]).toEqual([422, "approval_refused"]);
      expect(answer.body.detail).toMatch(words);
    }
    expect((await asked.read()).body).toMatchObject({ status: "pending", approvals: { given: 0 } });
  });

  it("meets the default level by World ID 4.0, which new users have alone, and names the older way", async () => {
    const asked = await ask(test, key);
    expect(asked.made.required_level).toBe("device");
    const start = await asked.start();
    expect(start).toMatchObject({
      ...{ preset: "proof_of_human", fallback: "device_legacy" },
      ...{ protocol_version: null, allow_legacy_proofs: true },
    });
    expect(await stateAfter(asked, makeV4Result(start, 23n))).toBe("approved");
  });

  it("says in words why World refused, and asks again where World says nothing about the proof", async () => {
    const asked = await ask(test, key);
    const reply = (code: string) => () => ({
      status: 400,
      body: {
        success: false,
        code: "all_verifications_failed",
        results: [{ identifier: "proof_of_human", success: false, code, detail: "World's own words" }],
      },
    });
    stub.reply = reply("outdated_nullifier");
    const refused = await asked.submit(makeV4Result(await asked.start(), 25n));
    expect([refused.status, refused.body.detail]).toEqual([
      422,
      "not approved: the proof was made too long ago; make a new one",
    ]);
    stub.reply = reply("prover_error");
    const result = makeV4Result(await asked.start(), 25n);
    const waits = await asked.submit(result);
    expect([waits.status, waits.body.code]).toEqual([503, "service_unavailable"]);
    stub.reply = undefined;
    await test.query("UPDATE approval_submissions SET next_attempt_at = now() WHERE request_id = $1", [
      asked.made.request_id,
    ]);
    // The app's own loop may be faster than this round, never beside it.
    expect(await createRetries(test.app.context).run()).toBeLessThanOrEqual(1);
    expect((await asked.read(undefined, "?wait=25")).body.status).toBe("approved");
  });

  it("asks the next humans for the version of the first", async () => {
    const asked = await ask(test, key, { approvals_required: 2 });
    expect(await stateAfter(asked, makeV4Result(await asked.start(), 21n))).toBe("pending");
    const start = await asked.start();
    expect(start).toMatchObject({
      ...{ preset: "proof_of_human", fallback: null },
      ...{ protocol_version: "4.0", allow_legacy_proofs: false },
    });
    expect(await stateAfter(asked, makeV4Result(start, 22n))).toBe("approved");
  });

  it("has no stand-in: its paths answer as unknown ones", async () => {
    const paths = [
      ["POST", "/request"],
      ["GET", "/response/some-request-id"],
      ["POST", "/dev/world-portal/api/v4/verify/rp_x"],
      ["GET", "/dev/world-app/api/request"],
    ];
    for (const [method = "", path] of paths) {
      const body = method === "POST" ? { body: "{}" } : {};
      test.use();
      const request = new Request(`http://localhost${path}`, { method, ...body });
      rememberPeer(request, "127.0.0.1");
      const answer = await serveStandIn(request);
      expect([path, answer.status]).toEqual([path, 404]);
    }
  });
});

describe("World ID with the portal alone", () => {
  it("says that nobody can check the proof again", async () => {
    const stub = await startWorldStub();
    const { WORLD_CHAIN_RPC_URL: _rpc, WORLD_ID_V4_VERIFYING_KEY: _key, ...settings } = stub.settings;
    const test = await startTestApp(anyKind, settings);
    const { key } = await test.createKey();
    const asked = await ask(test, key);
    expect(await stateAfter(asked, makeV4Result(await asked.start(), 21n))).toBe("approved");
    const { human_authorization } = (await asked.read()).body;
    expect(human_authorization.approvals[0].verified_by).toEqual(["world-portal-v4"]);
    const body = {
      agent_slug: "treasurer",
      action: asked.made.action,
      inputs_hash: "x",
      human_authorization,
    };
    const made = await test.call("POST", "/v1/attest", { key, body });
    const { checks, valid } = (await test.call("GET", `/v1/verify/${made.body.attestation_id}`)).body;
    expect(valid).toBe(true);
    expect(checks.find(({ name }: { name: string }) => name === "human_authorization").detail).toBe(
      "Proof of personhood, checked by World, cannot be checked again independently",
    );
    await test.close();
    await stub.close();
  });
});
