/** An approval is claimed by one run, whoever asks at once; a claim without an attestation is noticed, once. */
import { describe, expect, it } from "vitest";
import { authorizationState } from "#lib/api/schemas/authorization-state";
import { deleteExpired } from "#lib/server/background";
import { listInbox } from "#lib/services/approvals/decision/inbox";
import { type AskedRequest, approveUnproven, ask, expireRequest } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { markUnattested } from "./claim";

describe("claims", () => {
  const { test, key } = setupTestApp(anyKind, {
    LIMIT_AUTHORIZE_PER_MINUTE: "10000",
    LIMIT_ATTEST_PER_MINUTE: "10000",
    LIMIT_KEYED_PER_MINUTE: "100000",
    LIMIT_AUTHORIZE_PENDING: "1000",
  });

  const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;
  const approved = async (body: object = {}) => {
    const asked = await ask(test, key, body);
    await approveUnproven(test, asked.made.request_id);
    return asked;
  };
  const claim = ({ made }: AskedRequest, run: unknown, by = key) =>
    test.call("POST", `/v1/authorize/${made.request_id}/claim`, { key: by, body: { run } });
  const attest = async ({ made, read }: AskedRequest) => {
    const { human_authorization } = (await read()).body;
    const { agent_slug, action } = made;
    const body = { agent_slug, action, inputs_hash: "sha256:aa", human_authorization };
    return test.call("POST", "/v1/attest", { key, body });
  };
  const refusal = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

  it("gives it to the first run, which may ask again, and to no other", async () => {
    const asked = await approved();
    const first = await claim(asked, "run 1");
    expect(first.status).toBe(200);
    expect(authorizationState.parse(first.body)).toEqual(first.body);
    expect(first.body).toMatchObject({ status: "approved", run: "run 1", claimed_at: expect.any(String) });
    expect((await claim(asked, "run 1")).body).toEqual(first.body);
    expect(refusal(await claim(asked, "run 2"))).toEqual([409, "already_claimed"]);
    expect((await asked.read(key)).body).toMatchObject({ run: "run 1", unattested_at: null });
    expect((await asked.read()).body).not.toHaveProperty("run");
    const audited = await query(
      "SELECT action FROM audit_events WHERE subject = $1 AND action = 'authorization.claimed'",
      asked.made.request_id,
    );
    expect(audited).toHaveLength(1);
  });

  it("answers what it is, without the permission read", async () => {
    const { key: narrow } = await test.createKey("dev@example.com", ["authorize"]);
    const { body } = await claim(await approved({ context: { secret: "s3cret" } }), "mine", narrow);
    expect(body).toMatchObject({ run: "mine", claimed_at: expect.any(String) });
    expect(body).not.toHaveProperty("context");
  });

  it("is neither claimed nor used once the time is over in which it can be used", async () => {
    const asked = await approved({ usable_for_seconds: 60 });
    const { decided_at, usable_until } = (await asked.read()).body;
    expect(Date.parse(usable_until) - Date.parse(decided_at)).toBe(60_000);
    const inInbox = async () => {
      const user = await signInPerson(test.app.context, "dev@example.com");
      const { rows } = await listInbox(test.app.context, user, { isWaiting: false, limit: 20 });
      return rows.find(({ request_id }) => request_id === asked.made.request_id)?.is_over;
    };
    expect(await inInbox()).toBe(false);
    // Moves it a minute back.
    await query(
      "UPDATE authorization_requests SET usable_until = clock_timestamp() - interval '1 second' WHERE id = $1",
      asked.made.request_id,
    );
    expect(await inInbox()).toBe(true);
    expect(refusal(await claim(asked, "run 1"))).toEqual([422, "authorization_ended"]);
    expect(refusal(await attest(asked))).toEqual([422, "authorization_ended"]);
    expect((await asked.read(key)).body).toMatchObject({
      run: null,
      attestation_id: null,
      status: "approved",
    });
  });

  it("says why no run may begin", async () => {
    const asked = () => ask(test, key);
    const [pending, denied, cancelled, expired, used] = [
      await asked(),
      await asked(),
      await asked(),
      await asked(),
      await approved(),
    ];
    await denied.deny();
    await test.call("DELETE", `/v1/authorize/${cancelled.made.request_id}`, { key });
    await expireRequest(test, expired.made.request_id);
    await claim(used, "run 1");
    expect((await attest(used)).status).toBe(201);
    for (const [request, status, code] of [
      [pending, 409, "authorization_pending"],
      [denied, 409, "authorization_denied"],
      [cancelled, 409, "authorization_cancelled"],
      [expired, 409, "authorization_expired"],
      [used, 422, "authorization_already_used"],
    ] as const) {
      expect(refusal(await claim(request, "run 1"))).toEqual([status, code]);
      if (request !== used) expect((await request.read(key)).body.run).toBeNull();
    }
  });

  it("is for whoever may ask", async () => {
    const asked = await approved();
    const { key: weak } = await test.createKey("dev@example.com", ["attest", "read"]);
    const { key: hook } = await test.createKey("dev@example.com", ["hook"]);
    expect(refusal(await claim(asked, "x", weak))).toEqual([403, "insufficient_scope"]);
    expect(refusal(await claim(asked, "x", hook))).toEqual([403, "insufficient_scope"]);
    const own = await ask(test, hook);
    await approveUnproven(test, own.made.request_id);
    expect((await claim(own, "x", hook)).status).toBe(200);
    for (const run of ["", "x".repeat(129), "naïve", "a\nb", 7, null])
      expect(refusal(await claim(asked, run))).toEqual([422, "validation_error"]);
    expect((await claim(asked, "x".repeat(128))).status).toBe(200);
  });

  it("is no condition of the attestation, whoever has claimed", async () => {
    const [unclaimed, claimed] = [await approved(), await approved()];
    await claim(claimed, "somebody");
    for (const one of [unclaimed, claimed]) expect((await attest(one)).status).toBe(201);
  });

  it("notices once that nothing was attested within an hour of the claim", async () => {
    const events = ["authorization.unattested"];
    const hook = await test.call("POST", "/v1/webhooks", {
      key,
      body: { url: "http://127.0.0.1:9/x", events },
    });
    expect(hook.status).toBe(201);
    const [late, early, done] = [await approved(), await approved(), await approved()];
    for (const one of [late, early, done]) await claim(one, "run 1");
    await attest(done);
    for (const [asked, minutes] of [
      [late, 61],
      [early, 59],
      [done, 61],
    ] as const)
      await query(
        "UPDATE authorization_requests SET claimed_at = clock_timestamp() - make_interval(mins => $2) WHERE id = $1",
        asked.made.request_id,
        minutes,
      );
    await Promise.all([1, 2, 3].map(() => markUnattested(test.app.context.database)));
    await markUnattested(test.app.context.database);
    const told = await query("SELECT subject, body FROM webhook_messages WHERE type = $1", events[0]);
    expect(told.map(({ subject }) => subject)).toEqual([late.made.request_id]);
    expect(JSON.parse(String(told[0]?.["body"]))).toMatchObject({
      type: "authorization.unattested",
      data: { request_id: late.made.request_id, status: "approved" },
    });
    expect((await late.read(key)).body.unattested_at).not.toBeNull();
    expect((await early.read(key)).body.unattested_at).toBeNull();
    expect((await attest(late)).status).toBe(201);
    expect((await late.read(key)).body).toMatchObject({ unattested_at: null, run: "run 1" });
  });

  describe("its Idempotency-Key", () => {
    const post = (name: string) =>
      test.call("POST", "/v1/authorize", {
        key,
        body: { agent_slug: "treasurer", action: `Pay ${name}` },
        headers: { "idempotency-key": name },
      });
    const pass = async (id: string) => {
      await expireRequest(test, id);
      await query(
        "UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE authorization_id = $1",
        id,
      );
      await deleteExpired(test.app.context);
    };

    it("lives while the approval can be used, and a day longer", async () => {
      const { made, read } = await approvedAs("kept");
      await pass(made.request_id);
      expect((await post("kept")).body.request_id).toBe(made.request_id);
      const { body } = await attest({ made, read } as AskedRequest);
      expect((await post("kept")).body.request_id, "just used").toBe(made.request_id);
      const dayBefore = "UPDATE attestations SET created_at = now() - interval '25 hours' WHERE id = $1";
      await query(dayBefore, body.attestation_id);
      expect((await post("kept")).body.request_id, "used long ago").not.toBe(made.request_id);
    });

    const approvedAs = async (name: string) => {
      const made = (await post(name)).body;
      await approveUnproven(test, made.request_id);
      return { made, read: () => test.call("GET", `/v1/authorize/${made.request_id}`) };
    };

    it("is never forgotten if it was claimed and nothing attested, or if it was taken back", async () => {
      const claimed = await approvedAs("claimed");
      expect((await claim(claimed as AskedRequest, "run 1")).status).toBe(200);
      const revoked = await approvedAs("revoked");
      const path = `/v1/authorizations/${revoked.made.request_id}/revoke`;
      expect((await test.call("POST", path, { key, body: { reason: "wrong payee" } })).status).toBe(200);
      for (const [name, { made }] of Object.entries({ claimed, revoked })) {
        await query(
          "UPDATE authorization_requests SET usable_until = clock_timestamp() - interval '1 second' WHERE id = $1",
          made.request_id,
        );
        await pass(made.request_id);
        expect((await post(name)).body.request_id, name).toBe(made.request_id);
      }
    });

    it("ends with a request that nobody decided, or that was denied", async () => {
      const undecided = (await post("undecided")).body.request_id;
      await pass(undecided);
      expect((await post("undecided")).body.request_id).not.toBe(undecided);
    });
  });
});
