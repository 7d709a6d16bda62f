/** Nothing runs without an approval of exactly these arguments, and nothing is asked, run or attested twice. */
import { describe, expect, it, vi } from "vitest";
import {
  AgentFrozenError,
  ApprovalClaimedError,
  ApprovalMismatchError,
  ApprovalRevokedError,
  ApprovalUsedError,
  ConnectionError,
  NotApprovedError,
  NotAttestedError,
} from "#lib/client/api/errors";
import type { AuthorizationRequest, AuthorizationState } from "#lib/client/api/wire";
import { createCountersign } from "#lib/client/create";
import { derivePublicKeyPem } from "#lib/protocol/keys/ed25519";
import { askQuestion } from "#lib/services/approvals/decision/questions";
import { approvalUrl } from "#lib/services/approvals/rows";
import { approveUnproven, endApproval, expireRequest, openRequest } from "#support/authorizations";
import { type Break, breaking, clientOf, type Fetch, fetchFrom } from "#support/client";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { type GatedAction, readOutcome } from "./gate";

const { test, key } = setupTestApp(anyKind, { LIMIT_AUTHORIZE_PER_MINUTE: "1000" });

const inputs = () => ({ to: "Example Ltd", amount: { value: 100, currency: "EUR" } });
/** Called again if the gate is: a human decides once. */
const decided = new Set<string>();
const approve = async (made: AuthorizationRequest) => {
  if (decided.has(made.request_id)) return;
  decided.add(made.request_id);
  await approveUnproven(test, made.request_id);
};

let calls = 0;
const newAction = (more: Partial<GatedAction> = {}): GatedAction => {
  calls += 1;
  return {
    agent_slug: `payer-${calls}`,
    action: "Pay invoice 1042",
    runId: "run-1",
    callId: `call-${calls}`,
    onRequest: approve,
    ...more,
  };
};

/** Counts the humans asked for an action, and the attestations stored. */
async function count({ agent_slug }: GatedAction): Promise<{ asked: number; attested: number }> {
  const list = (path: string) => test.call("GET", `${path}?agent_slug=${agent_slug}`, { key });
  const { authorizations } = (await list("/v1/authorizations")).body;
  const { attestations } = (await list("/v1/attestations")).body;
  return { asked: authorizations.length, attested: attestations.length };
}

describe("gate", () => {
  it("runs what was approved, once, and attests it with the approval", async () => {
    const run = vi.fn(async ({ amount }: ReturnType<typeof inputs>) => `paid ${amount.value}`);
    const action = newAction({ attestation: { metadata: { invoice: 1042 } } });
    const gated = await clientOf(test, key).gate(action, inputs(), run);
    expect(gated.result).toBe("paid 100");
    expect(run.mock.calls).toEqual([
      [inputs(), { requestId: gated.authorization.request_id, key: expect.stringMatching(/^gate-/) }],
    ]);
    expect(gated.attestation).toMatchObject({
      action: "Pay invoice 1042",
      inputs_hash: clientOf(test, key).hashInputs(inputs()),
      metadata: { invoice: 1042, outcome: "completed" },
      human_approval: { method: "proof_of_personhood", inputs_bound: true },
    });
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
  });

  it("claims in its request what a rule gives at once, for itself alone", async () => {
    const { key: owner } = await test.createKey("dev@example.com", ["rules"]);
    const text = '@id("all") permit (principal, action, resource);';
    const put = (mode: string) => test.call("PUT", "/v1/rules", { key: owner, body: { mode, text } });
    expect((await put("enforce")).status).toBe(200);
    const sent: string[] = [];
    const honest = fetchFrom(test);
    const fetch: Fetch = (url, init) => {
      sent.push(new URL(url).pathname);
      return honest(url, init);
    };
    const client = createCountersign({ baseUrl: "http://localhost:3000", apiKey: key, fetch });
    const action = newAction({ onRequest: undefined });
    const other = vi.fn();
    const gated = await client.gate(action, inputs(), async () => {
      await expect(clientOf(test, key).gate(action, inputs(), other)).rejects.toThrow(ApprovalClaimedError);
      return "paid";
    });
    await put("off");
    expect([gated.result, sent]).toEqual(["paid", ["/v1/authorize", "/v1/attest"]]);
    expect(other).not.toHaveBeenCalled();
    expect(gated.attestation.human_approval).toMatchObject({ method: "rule" });
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
  });

  describe("with changes of an approver", () => {
    const asked = { amount: 100, payee: "Example Ltd", isUrgent: true };
    const schema = {
      "~standard": {
        validate: (value: unknown) =>
          (value as typeof asked).amount >= 10 ? { value } : { issues: [{ message: "too little" }] },
      },
    };
    const amendable = {
      amount: { value: "100", currency: "EUR" },
      amendable: ["amount", "context.amount", "context.payee"],
      schema,
    };
    const change = async (token: string, changes: object) => {
      const headers = { "sec-fetch-site": "same-origin" };
      const answer = await test.call("POST", `/approve/${token}/amend`, { headers, body: { changes } });
      expect(answer.status).toBe(200);
      return answer.body.request_id as string;
    };
    const changing = (changes: object, isApproved = true) => {
      const decided = new Set<string>();
      return async (made: AuthorizationRequest) => {
        if (decided.has(made.request_id)) return;
        decided.add(made.request_id);
        const id = await change(openRequest(test, made).token, changes);
        if (isApproved) await approveUnproven(test, id);
      };
    };

    it("runs what was approved, attests that with both hashes, and asks no second time", async () => {
      const run = vi.fn(async () => "paid");
      const onRequest = changing({ amount: "80.5", "context.payee": "Example GmbH" });
      const action = newAction({ ...amendable, onRequest });
      const client = clientOf(test, key);
      const gated = await client.gate(action, asked, run);
      const changed = { amount: 80.5, payee: "Example GmbH", isUrgent: true };
      expect(run.mock.calls).toEqual([
        [changed, expect.objectContaining({ requestId: gated.authorization.request_id })],
      ]);
      expect(asked.amount).toBe(100);
      expect(gated.attestation).toMatchObject({
        inputs_hash: client.hashInputs(changed),
        metadata: { asked_inputs_hash: client.hashInputs(asked), outcome: "completed" },
        human_approval: { method: "proof_of_personhood", inputs_bound: true },
      });
      await expect(client.gate({ ...action, asksAgain: false }, asked, run)).rejects.toThrow(
        ApprovalUsedError,
      );
      expect(run).toHaveBeenCalledTimes(1);
    });

    it("runs nothing that the tool's schema refuses, and claims nothing for it", async () => {
      const run = vi.fn();
      const action = newAction({ ...amendable, onRequest: changing({ amount: "1" }) });
      await expect(clientOf(test, key).gate(action, asked, run)).rejects.toThrow(
        "don't fit the tool's schema",
      );
      expect(run).not.toHaveBeenCalled();
      const [made] = (await test.call("GET", `/v1/authorizations?agent_slug=${action.agent_slug}`, { key }))
        .body.authorizations as AuthorizationState[];
      expect(made).toMatchObject({ status: "approved", claimed_at: null });
    });

    it("runs nothing if the changed request is denied, and cancels it if the call is aborted", async () => {
      const run = vi.fn();
      const denying = async (made: AuthorizationRequest) => {
        const id = await change(openRequest(test, made).token, { amount: "80" });
        const approval_url = approvalUrl(test.app.context, id);
        await openRequest(test, { request_id: id, approval_url }).deny("no");
      };
      const denied = clientOf(test, key).gate(newAction({ ...amendable, onRequest: denying }), asked, run);
      await expect(denied).rejects.toThrow(NotApprovedError);
      const stop = new AbortController();
      const action = newAction({
        ...amendable,
        signal: stop.signal,
        onRequest: async (made) => {
          await changing({ amount: "80" }, false)(made);
          setTimeout(() => stop.abort(new Error("stopped")), 200);
        },
      });
      await expect(clientOf(test, key).gate(action, asked, run)).rejects.toThrow("stopped");
      const { authorizations } = (
        await test.call("GET", `/v1/authorizations?agent_slug=${action.agent_slug}`, { key })
      ).body;
      expect(authorizations.map(({ status }: AuthorizationState) => status)).toEqual([
        "cancelled",
        "cancelled",
      ]);
      expect(run).not.toHaveBeenCalled();
    });

    it("asks nobody without the tool's schema, or for what isn't an argument", async () => {
      const { schema: _none, ...without } = amendable;
      const asking = (more: Partial<GatedAction>) =>
        clientOf(test, key).gate(newAction(more), asked, vi.fn());
      await expect(asking(without)).rejects.toThrow("amendable needs schema");
      await expect(asking({ ...amendable, context: { beside: "more" } })).rejects.toThrow("amendable");
      await expect(asking({ ...amendable, approveUnseenInputs: true })).rejects.toThrow("amendable");
    });
  });

  it("answers an approver's question while it waits", async () => {
    const onQuestion = vi.fn(async () => "Paper");
    const onRequest = async (made: AuthorizationRequest) => {
      setTimeout(async () => {
        await askQuestion(test.app.context, made.request_id, { question: "What for?" }, "192.0.2.1");
        await expect.poll(() => onQuestion.mock.calls.length).toBe(1);
        await approve(made);
      }, 100);
    };
    await clientOf(test, key).gate(newAction({ onRequest, onQuestion }), inputs(), vi.fn());
    expect(onQuestion.mock.calls).toEqual([[expect.objectContaining({ number: 1, question: "What for?" })]]);
  });

  it("runs what is approved before its answer to a question comes", async () => {
    const asked: AuthorizationRequest[] = [];
    const onRequest = async (made: AuthorizationRequest) => {
      asked.push(made);
      await askQuestion(test.app.context, made.request_id, { question: "What for?" }, "192.0.2.1");
    };
    const onQuestion = async () => {
      for (const made of asked) await approve(made);
      return "Paper";
    };
    const { result } = await clientOf(test, key).gate(
      newAction({ onRequest, onQuestion }),
      inputs(),
      async () => "paid",
    );
    expect(result).toBe("paid");
  });

  it("signs the attestation as the agent, over the approval too", async () => {
    const seed = new Uint8Array(32).fill(7);
    const action = newAction({ agentKey: seed });
    const identity = { slug: action.agent_slug, public_key_pem: derivePublicKeyPem(seed) };
    expect((await test.call("POST", "/v1/identity/register", { key, body: identity })).status).toBe(201);
    const { attestation } = await clientOf(test, key).gate(action, inputs(), vi.fn());
    expect(attestation.agent_authenticated).toBe(true);
  });

  it("does not run what a human denied, and does not ask again", async () => {
    const run = vi.fn();
    const deny = async (made: AuthorizationRequest) => void (await openRequest(test, made).deny("no"));
    const action = newAction({ onRequest: deny });
    for (let times = 0; times < 2; times += 1) {
      const error = await clientOf(test, key)
        .gate(action, inputs(), run)
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(NotApprovedError);
      expect(error).toMatchObject({ status: "denied", retryable: false, decision: { denial_reason: "no" } });
      expect(String(error)).toContain("Do not retry");
    }
    expect(run).not.toHaveBeenCalled();
    expect(await count(action)).toEqual({ asked: 1, attested: 0 });
  });

  it("runs what was approved for the agent, however its slug is spelled", async () => {
    const action = newAction();
    await test.call("POST", "/v1/identity/register", {
      key,
      body: { slug: action.agent_slug, name: "Payer" },
    });
    const spelled = { ...action, agent_slug: action.agent_slug.toUpperCase() };
    expect((await clientOf(test, key).gate(spelled, inputs(), async () => "paid")).result).toBe("paid");
  });

  it("does not run what nobody decided in time", async () => {
    const run = vi.fn();
    const expire = (made: AuthorizationRequest) => expireRequest(test, made.request_id);
    const gated = clientOf(test, key).gate(newAction({ onRequest: expire }), inputs(), run);
    await expect(gated).rejects.toMatchObject({ name: "NotApprovedError", status: "expired" });
    expect(run).not.toHaveBeenCalled();
  });

  it("refuses arguments that changed between approval and run", async () => {
    const run = vi.fn();
    const changing = inputs();
    const action = newAction({
      onRequest: async (made) => {
        await approve(made);
        changing.amount.value = 100_000;
      },
    });
    const gated = clientOf(test, key).gate(action, changing, run);
    await expect(gated).rejects.toEqual(new ApprovalMismatchError("inputs_hash"));
    expect(run).not.toHaveBeenCalled();
    expect(await count(action)).toEqual({ asked: 1, attested: 0 });
  });

  it("runs a copy that nobody else can change", async () => {
    const shared = inputs();
    const run = vi.fn(async (own: ReturnType<typeof inputs>) => {
      shared.amount.value = 100_000;
      await Promise.resolve();
      return own.amount.value;
    });
    expect((await clientOf(test, key).gate(newAction(), shared, run)).result).toBe(100);
  });

  it.each([
    ["inputs_hash", "sha256:00"],
    ["agent_slug", "someone-else"],
    ["action", "Pay invoice 1"],
  ] as const)("refuses a decision about another %s", async (field, other) => {
    const run = vi.fn();
    const honest = fetchFrom(test);
    const fetch: Fetch = async (url, init) => {
      const response = await honest(url, init);
      return init.method === "GET" ? Response.json({ ...(await response.json()), [field]: other }) : response;
    };
    const gated = clientOf(test, key, fetch).gate(newAction(), inputs(), run);
    await expect(gated).rejects.toEqual(new ApprovalMismatchError(field));
    expect(run).not.toHaveBeenCalled();
  });

  it("reads the decision again after the wait, when it is about to run", async () => {
    const run = vi.fn();
    const honest = fetchFrom(test);
    const fetch: Fetch = (url, init) => {
      if (!url.endsWith("?wait=25")) return honest(url, init);
      return Promise.resolve(
        Response.json({
          status: "approved",
          human_authorization: {},
          revoked_at: null,
          attestation_id: null,
        }),
      );
    };
    const gated = clientOf(test, key, fetch).gate(newAction({ onRequest: undefined }), inputs(), run);
    await expect(gated).rejects.toThrow("No human has decided yet.");
    expect(run).not.toHaveBeenCalled();
  });

  it("takes an equal call after the attested one for a new question, in any process", async () => {
    const run = vi.fn((_own: unknown, approval: { requestId: string; key: string }) => approval);
    const action = newAction();
    const client = clientOf(test, key);
    const { result: first } = await client.gate(action, inputs(), run);
    const waiting = { ...action, onRequest: undefined, wait: false };
    for (const own of [client, clientOf(test, key)])
      await expect(own.gate(waiting, inputs(), run)).rejects.toThrow("No human has decided yet.");
    expect(run).toHaveBeenCalledTimes(1);
    expect(await count(action), "asked once more, by both").toEqual({ asked: 2, attested: 1 });
    const asked = await clientOf(test, key).ask(waiting, inputs());
    const { result: second } = await clientOf(test, key).gate(action, inputs(), run);
    expect(second.requestId).toBe(asked.request_id);
    expect(second.key, "a provider takes it for another payment").not.toBe(first.key);
    await client.gate(action, inputs(), run);
    expect(await count(action)).toEqual({ asked: 3, attested: 3 });
    expect(new Set(run.mock.calls.map(([, approval]) => approval.key)).size).toBe(3);
  });

  it("neither asks again nor runs what has run, where its ids never repeat", async () => {
    const run = vi.fn();
    const onRequest = vi.fn(approve);
    const action = newAction({ asksAgain: false, onRequest });
    const client = clientOf(test, key);
    const { attestation } = await client.gate(action, inputs(), run);
    const used = new ApprovalUsedError(attestation.attestation_id);
    for (const own of [client, clientOf(test, key)]) {
      await expect(own.gate(action, inputs(), run)).rejects.toEqual(used);
      await expect(own.ask(action, inputs())).rejects.toEqual(used);
    }
    expect([run, onRequest].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
    const failing = newAction({ asksAgain: false });
    const throwing = vi.fn().mockRejectedValue(new Error("the bank is closed"));
    await expect(client.gate(failing, inputs(), throwing)).rejects.toThrow("the bank is closed");
    await expect(client.gate(failing, inputs(), throwing)).rejects.toThrow(ApprovalUsedError);
    expect(throwing).toHaveBeenCalledTimes(1);
  });

  it("does not ask or run again what a repeated call has claimed and not attested", async () => {
    const action = newAction();
    await clientOf(test, key).gate(action, inputs(), vi.fn());
    const dying = (async (url, init) =>
      url.endsWith("/v1/attest")
        ? new Response("{}", { status: 403 })
        : fetchFrom(test)(url, init)) satisfies Fetch;
    const repeated = clientOf(test, key, dying).gate(action, inputs(), vi.fn());
    await expect(repeated).rejects.toThrow(NotAttestedError);
    const run = vi.fn();
    await expect(clientOf(test, key).gate(action, inputs(), run)).rejects.toThrow(ApprovalClaimedError);
    expect(run).not.toHaveBeenCalled();
    expect(await count(action)).toEqual({ asked: 2, attested: 1 });
  });

  it("does not ask again if the approval is used while the call waits for it", async () => {
    const action = newAction();
    const other = vi.fn();
    const run = vi.fn();
    const overtaken = {
      ...action,
      onRequest: async (made: AuthorizationRequest) => {
        await approve(made);
        await clientOf(test, key).gate(action, inputs(), other);
      },
    };
    const gated = clientOf(test, key).gate(overtaken, inputs(), run);
    await expect(gated).rejects.toThrow(ApprovalUsedError);
    expect([other.mock.calls.length, run.mock.calls.length]).toEqual([1, 0]);
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
  });

  const revoke = (id: string) => test.call("POST", `/v1/authorizations/${id}/revoke`, { key, body: {} });
  const freeze = (slug: string) =>
    test.call("POST", `/v1/identity/${slug}/freeze`, { key, body: { reason: "stop" } });

  it("does not run what was taken back, nor for an agent that is frozen", async () => {
    const run = vi.fn();
    const takenBack = newAction({
      onRequest: async (made) => {
        await approve(made);
        await revoke(made.request_id);
      },
    });
    await expect(clientOf(test, key).gate(takenBack, inputs(), run)).rejects.toThrow(ApprovalRevokedError);
    const frozen = newAction({
      onRequest: async (made) => {
        await approve(made);
        await freeze(made.agent_slug);
      },
    });
    await expect(clientOf(test, key).gate(frozen, inputs(), run)).rejects.toThrow(AgentFrozenError);
    expect(run).not.toHaveBeenCalled();
    expect(await count(takenBack)).toEqual({ asked: 1, attested: 0 });
  });

  it.each(["taken back", "frozen"])(
    "does not run what is %s between the last look and the claim",
    async (what) => {
      const run = vi.fn();
      const honest = fetchFrom(test);
      const action = newAction();
      const fetch: Fetch = async (url, init) => {
        const [, id = ""] = /authorize\/([^/]+)\/claim$/.exec(url) ?? [];
        if (id !== "") await (what === "frozen" ? freeze(action.agent_slug) : revoke(id));
        return honest(url, init);
      };
      const error = what === "frozen" ? AgentFrozenError : ApprovalRevokedError;
      await expect(clientOf(test, key, fetch).gate(action, inputs(), run)).rejects.toThrow(error);
      expect(run).not.toHaveBeenCalled();
    },
  );

  it.each(["taken back", "frozen", "over"])(
    "attests without the approval what is %s while it runs, also with the permission hook alone",
    async (what) => {
      const action = newAction({ attestation: { metadata: { invoice: 1042 } } });
      const { key: narrow } = await test.createKey("dev@example.com", ["hook"]);
      const { result, attestation } = await clientOf(test, narrow).gate(
        action,
        inputs(),
        async (_own, approval) => {
          if (what === "over") await endApproval(test, approval.requestId);
          else await (what === "frozen" ? freeze(action.agent_slug) : revoke(approval.requestId));
          return "paid";
        },
      );
      expect(result).toBe("paid");
      expect(attestation).toMatchObject({
        human_approval: { method: "none" },
        metadata: { invoice: 1042, outcome: "completed", approval: expect.stringContaining(what) },
      });
      expect(await count(action)).toEqual({ asked: 1, attested: 1 });
    },
  );

  it.each([
    ["completes", vi.fn(async () => "paid")],
    ["fails", vi.fn().mockRejectedValue(new Error("the bank is closed"))],
  ])(
    "does not run again on an approval that a freeze kept from the attestation of a run that %s",
    async (_, end) => {
      const action = newAction();
      const client = clientOf(test, key);
      const run = vi.fn(async () => {
        await freeze(action.agent_slug);
        return end();
      });
      await Promise.allSettled([client.gate(action, inputs(), run)]);
      const thaw = await test.call("POST", `/v1/identity/${action.agent_slug}/unfreeze`, { key, body: {} });
      expect(thaw.status).toBe(200);
      for (const own of [client, client, clientOf(test, key)])
        await expect(own.gate(action, inputs(), run)).rejects.toThrow(ApprovalClaimedError);
      expect(run).toHaveBeenCalledTimes(1);
      expect(await count(action)).toEqual({ asked: 1, attested: 1 });
    },
  );

  it("takes two calls at once for one", async () => {
    const run = vi.fn(() => "done");
    const action = newAction();
    const client = clientOf(test, key);
    const both = await Promise.all([client.gate(action, inputs(), run), client.gate(action, inputs(), run)]);
    expect(both[0]).toEqual(both[1]);
    expect(run).toHaveBeenCalledTimes(1);
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
  });

  it("asks again for other arguments, another call and another run", async () => {
    const asked: string[] = [];
    const action = newAction({
      onRequest: async (made) => {
        asked.push(made.request_id);
        await openRequest(test, made).deny();
      },
    });
    const client = clientOf(test, key);
    const ask = (more: Partial<GatedAction>, given: object) =>
      expect(client.gate({ ...action, ...more }, given, vi.fn())).rejects.toThrow(NotApprovedError);
    await ask({}, inputs());
    await ask({}, { ...inputs(), to: "Another Ltd" });
    await ask({ callId: `${action.callId}-b` }, inputs());
    await ask({ runId: "run-2" }, inputs());
    await ask({ action: "Pay invoice 1043" }, inputs());
    await ask({ agent_slug: `${action.agent_slug}-b` }, inputs());
    expect(new Set(asked).size).toBe(6);
  });

  it("runs once in clients that know nothing of each other, and says why to the others", async () => {
    const refused: unknown[] = [];
    // An approval that is used by then would be refused for that.
    const run = vi.fn(() => vi.waitUntil(() => refused.length === 2, { timeout: 60_000 }));
    const action = newAction();
    // With the pauses that it really makes: while the first asks, the others are told to wait.
    const newClient = () =>
      createCountersign({ baseUrl: "http://localhost:3000", apiKey: key, fetch: fetchFrom(test) });
    const gates = [1, 2, 3].map(() => newClient().gate(action, inputs(), run));
    await Promise.all(gates.map((gate) => gate.catch((error: unknown) => refused.push(error))));
    expect(refused).toEqual([new ApprovalClaimedError(), new ApprovalClaimedError()]);
    expect(run).toHaveBeenCalledTimes(1);
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
  });

  it("runs an action that failed again only after it was asked again", async () => {
    const run = vi.fn().mockRejectedValueOnce(new Error("the bank is closed"));
    const action = newAction();
    await expect(clientOf(test, key).gate(action, inputs(), run)).rejects.toThrow("the bank is closed");
    const waiting = { ...action, onRequest: undefined, wait: false };
    const again = clientOf(test, key).gate(waiting, inputs(), run);
    await expect(again).rejects.toThrow("No human has decided yet.");
    expect(run).toHaveBeenCalledTimes(1);
  });

  it("uses an approval that was given in time after the request's time is over, and shows what it is now", async () => {
    const statuses: string[] = [];
    const action = newAction({
      onRequest: (made) => void statuses.push(made.status),
      wait: false,
    });
    const { request_id } = await clientOf(test, key).ask(action, inputs());
    await approve({ request_id } as AuthorizationRequest);
    await expireRequest(test, request_id);
    await test.query(
      "UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE authorization_id = $1",
      [request_id],
    );
    const { authorization } = await clientOf(test, key).gate(action, inputs(), vi.fn());
    expect(authorization.request_id).toBe(request_id);
    expect(statuses).toEqual(["pending", "approved"]);
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
  });

  it("shows the human every argument beside the context, unless they may approve unseen ones", async () => {
    const action = newAction({ context: { to: "a supplier" } });
    const { authorization } = await clientOf(test, key).gate(action, inputs(), vi.fn());
    expect(authorization.context).toEqual({
      to: "a supplier",
      "to (argument)": "Example Ltd",
      amount: '{"currency":"EUR","value":100}',
    });
    const unseen = newAction({ context: { to: "a supplier" }, approveUnseenInputs: true });
    const hidden = await clientOf(test, key).gate(unseen, inputs(), vi.fn());
    expect(hidden.authorization.context).toEqual({ to: "a supplier" });
    const long = { ...inputs(), note: "x".repeat(40_000) };
    const tooLong = newAction();
    await expect(clientOf(test, key).gate(tooLong, long, vi.fn())).rejects.toThrow("too long to be shown");
    expect(await count(tooLong)).toEqual({ asked: 0, attested: 0 });
  });

  it("cancels the request when it is aborted, also while it asks", async () => {
    const statusOf = async ({ agent_slug }: GatedAction) => {
      const { body } = await test.call("GET", `/v1/authorizations?agent_slug=${agent_slug}`, { key });
      return (body.authorizations as AuthorizationState[]).map(({ status }) => status);
    };
    const waiting = new AbortController();
    const action = newAction({
      signal: waiting.signal,
      onRequest: () => setImmediate(() => waiting.abort(new Error("enough"))) && undefined,
    });
    await expect(clientOf(test, key).gate(action, inputs(), vi.fn())).rejects.toThrow("enough");
    expect(await statusOf(action)).toEqual(["cancelled"]);
    const asking = new AbortController();
    const honest = fetchFrom(test);
    const fetch: Fetch = async (url, init) => {
      if (new URL(url).pathname === "/v1/authorize") asking.abort(new Error("enough"));
      return honest(url, init);
    };
    const early = newAction({ signal: asking.signal, onRequest: undefined });
    const runtime = { sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)) };
    const client = createCountersign({ baseUrl: "http://localhost:3000", apiKey: key, fetch, runtime });
    await expect(client.gate(early, inputs(), vi.fn())).rejects.toThrow("enough");
    expect(await statusOf(early)).toEqual(["cancelled"]);
    const late = newAction({ signal: asking.signal });
    await expect(client.gate(late, inputs(), vi.fn())).rejects.toThrow("enough");
    expect(await statusOf(late)).toEqual([]);
  });

  const message = { tool_call_id: "call-1", content: "", status: "success" };
  it.each([
    ["completed", "paid"],
    ["completed", null],
    ["completed", { status: "error" }],
    ["completed", { content: [], isError: false }],
    ["completed", { messages: [message] }],
    ["started", { task: { taskId: "t", status: "working" } }],
    ["started", { resultType: "task", taskId: "t" }],
    ["completed", { task: "Pay" }],
    ["completed", { task: { taskId: 5 } }],
    ["failed", { content: [], isError: true }],
    ["failed", { ...message, status: "error" }],
    ["failed", [message, { ...message, status: "error" }]],
    ["failed", { messages: [{ ...message, status: "error" }] }],
    ["failed", { update: { messages: [{ ...message, status: "error" }] } }],
  ])("takes as %s what a tool returns as %j", (outcome, result) => {
    expect(readOutcome(result)).toBe(outcome);
  });

  it("attests an error that a tool handled as failed, and returns what it returned", async () => {
    const action = newAction();
    const result = { content: [], isError: true };
    const gated = await clientOf(test, key).gate(action, inputs(), () => result);
    expect(gated.result).toBe(result);
    expect(gated.attestation.metadata).toEqual({ outcome: "failed" });
  });

  it("attests an action that failed as failed, and throws its error again", async () => {
    const failure = new Error("the bank is closed");
    const run = vi.fn().mockRejectedValue(failure);
    const action = newAction({ attestation: { metadata: { invoice: 1042 } } });
    const client = clientOf(test, key);
    await expect(client.gate(action, inputs(), run)).rejects.toBe(failure);
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
    const path = `/v1/attestations?agent_slug=${action.agent_slug}`;
    const [made] = (await test.call("GET", path, { key })).body.attestations;
    const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}`, { key });
    expect(body.metadata).toEqual({ invoice: 1042, outcome: "failed" });
    expect(body.human_approval.method).toBe("proof_of_personhood");
    const thrown = newAction();
    const throwing = () => {
      throw failure;
    };
    await expect(client.gate(thrown, inputs(), throwing)).rejects.toBe(failure);
    expect(await count(thrown)).toEqual({ asked: 1, attested: 1 });
    expect(run).toHaveBeenCalledTimes(1);
  });

  it("shows the error of an action that failed though that can't be attested, and only attests when called again", async () => {
    const failure = new Error("the bank is closed");
    const run = vi.fn().mockRejectedValue(failure);
    const honest = fetchFrom(test);
    let isDown = true;
    const fetch: Fetch = async (url, init) => {
      if (isDown && url.endsWith("/v1/attest")) return new Response("{}", { status: 403 });
      return honest(url, init);
    };
    const client = createCountersign({ baseUrl: "http://localhost:3000", apiKey: key, fetch });
    const action = newAction();
    const error: unknown = await client.gate(action, inputs(), run).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AggregateError);
    expect(error).toMatchObject({ message: expect.stringContaining(failure.message), cause: failure });
    expect((error as AggregateError).errors).toEqual([failure, expect.any(NotAttestedError)]);
    isDown = false;
    await expect(client.gate(action, inputs(), run)).rejects.toBe(failure);
    expect(run).toHaveBeenCalledTimes(1);
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
  });

  it.each([[["hook"]], [["attest", "authorize"]]] as const)("needs no more than %j", async (scopes) => {
    const { key: narrow } = await test.createKey("dev@example.com", scopes);
    const run = vi.fn(() => "paid");
    const action = newAction();
    expect((await clientOf(test, narrow).gate(action, inputs(), run)).result).toBe("paid");
    expect((await clientOf(test, narrow).gate(action, inputs(), run)).result, "asked again").toBe("paid");
    expect(await count(action)).toEqual({ asked: 2, attested: 2 });
  });

  it("stops waiting when it is aborted, and attests what has run", async () => {
    const waiting = new AbortController();
    const action = newAction({
      signal: waiting.signal,
      onRequest: () => setImmediate(() => waiting.abort(new Error("enough"))) && undefined,
    });
    await expect(clientOf(test, key).gate(action, inputs(), vi.fn())).rejects.toThrow("enough");
    const running = new AbortController();
    const late = newAction({ signal: running.signal });
    await clientOf(test, key).gate(late, inputs(), () => running.abort(new Error("enough")));
    expect(await count(late)).toEqual({ asked: 1, attested: 1 });
  });

  it("refuses inputs that JSON would change in silence, before it asks", async () => {
    const action = newAction();
    const gated = clientOf(test, key).gate(action, { when: new Date(0) }, vi.fn());
    await expect(gated).rejects.toThrow("inputs.when: Date is not a JSON value");
    expect(await count(action)).toEqual({ asked: 0, attested: 0 });
  });
});

/** The requests of a gate that nothing disturbs: ask, wait, read again, claim, attest. */
const steps = ["ask", "wait", "read", "claim", "attest"];

describe.each(["before", "after"] as const)("a connection lost %s the service answered", (kind: Break) => {
  it("at every step, once", async () => {
    const run = vi.fn(() => "done");
    const action = newAction();
    const fetch = breaking(fetchFrom(test), kind, (number) => number % 2 === 1);
    expect((await clientOf(test, key, fetch).gate(action, inputs(), run)).result).toBe("done");
    expect(run).toHaveBeenCalledTimes(1);
    expect(await count(action)).toEqual({ asked: 1, attested: 1 });
  });

  it.each(steps.map((step, index) => [step, index + 1] as const))(
    "at %s, and then for a while",
    async (step, from) => {
      const run = vi.fn(() => "done");
      const action = newAction();
      let isDown = true;
      const fetch = breaking(fetchFrom(test), kind, (number) => isDown && number >= from);
      const client = clientOf(test, key, fetch);
      const error = await client.gate(action, inputs(), run).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(step === "attest" ? NotAttestedError : ConnectionError);
      expect(error).toMatchObject({ retryable: true });
      expect(run).toHaveBeenCalledTimes(step === "attest" ? 1 : 0);
      const afterwards = await count(action);
      expect(afterwards.asked).toBeLessThanOrEqual(1);
      expect(afterwards.attested).toBe(step === "attest" && kind === "after" ? 1 : 0);
      isDown = false;
      expect((await client.gate(action, inputs(), run)).result).toBe("done");
      expect(run).toHaveBeenCalledTimes(1);
      expect(await count(action)).toEqual({ asked: 1, attested: 1 });
    },
  );
});
