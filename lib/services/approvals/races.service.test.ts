/** Approve, deny, cancel, expire, claim and attest in any order and at once: one outcome, one run, used once. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import { acceptApproval, type ProvenApproval } from "#lib/services/approvals/decision/decide";
import { type AskedRequest, ask, provenBy } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const act = fc.record({
  kind: fc.constantFrom(
    "approve",
    "approve",
    "approve",
    "deny",
    "cancel",
    "expire",
    "claim",
    "claim",
    "attest",
    "read",
  ),
  human: fc.nat({ max: 2 }),
  delayMs: fc.nat({ max: 25 }),
});
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

describe("races", () => {
  const { test, key } = setupTestApp(anyKind, {
    LIMIT_AUTHORIZE_PER_MINUTE: "100000",
    LIMIT_ATTEST_PER_MINUTE: "100000",
    LIMIT_ATTEST_PER_DAY: "100000",
    LIMIT_AUTHORIZE_PENDING: "100000",
    LIMIT_READ_AUTHORIZATION_PER_MINUTE: "1000000",
  });
  let nonce = 1n;

  const query = async (sql: string, id: string) => (await test.query(sql, [id])).rows[0]?.["n"];

  function embed(asked: AskedRequest, human_authorization: unknown) {
    const body = {
      agent_slug: "treasurer",
      action: asked.made.action,
      inputs_hash: "sha256:aa",
      human_authorization,
    };
    return test.call("POST", "/v1/attest", { key, body });
  }

  async function run(asked: AskedRequest, { kind: what, human }: Act, seen: string[]): Promise<string> {
    const { context } = test.app;
    const id = asked.made.request_id;
    if (what === "approve") {
      nonce += 1n;
      return acceptApproval(context, id, { proof: provenBy(human, nonce), approver: null }, null).then(
        () => "approval counted",
        (error: { errorName?: string }) => error.errorName ?? String(error),
      );
    }
    if (what === "deny") return (await asked.deny()).status === 200 ? "denied" : "refused";
    if (what === "cancel") {
      const answer = await test.call("DELETE", `/v1/authorize/${id}`, { key });
      return answer.status === 200 ? "cancelled" : "refused";
    }
    if (what === "claim") {
      const claimed = { key, body: { run: `run ${human}` } };
      const answer = await test.call("POST", `/v1/authorize/${id}/claim`, claimed);
      return answer.status === 200 ? `claimed by ${answer.body.run}` : answer.body.code;
    }
    if (what === "expire") {
      await context.database.query(
        "UPDATE authorization_requests SET expires_at = clock_timestamp() WHERE id = $1 AND status = 'pending'",
        [id],
      );
      return "clock moved";
    }
    const state = (await asked.read()).body;
    seen.push(state.status);
    if (what === "read" || state.status !== "approved") return "read";
    return (await embed(asked, state.human_authorization)).status === 201 ? "attested" : "refused";
  }

  it("has exactly one end whatever happens at once", async () => {
    const acts = fc.array(act, { minLength: 2, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 2 }), acts, async (required, planned) => {
        const asked = await ask(test, key, { approvals_required: required });
        const id = asked.made.request_id;
        const seen: string[] = [];
        const outcomes = await Promise.all(
          planned.map(async (one) => {
            await new Promise((resolve) => setTimeout(resolve, one.delayMs));
            return run(asked, one, seen);
          }),
        );
        const { status, approvals, human_authorization } = (await asked.read()).body;
        const count = (outcome: string) => outcomes.filter((one) => one === outcome).length;
        expect(count("denied")).toBe(status === "denied" ? 1 : 0);
        expect(count("cancelled")).toBe(status === "cancelled" ? 1 : 0);
        expect(approvals.given).toBe(count("approval counted"));
        expect(approvals.given >= required).toBe(status === "approved");
        expect(approvals.given).toBeLessThanOrEqual(required);
        expect(human_authorization?.approvals.length ?? 0).toBe(status === "approved" ? required : 0);
        expect(seen.filter((one) => one !== "pending" && one !== status)).toEqual([]);
        const decisions = await query(
          "SELECT count(*)::int AS n FROM authorization_requests r JOIN log_leaves l USING (log_id, leaf_index) WHERE r.id = $1 AND l.kind = 'decision'",
          id,
        );
        expect(decisions).toBe(["approved", "denied", "cancelled"].includes(status) ? 1 : 0);
        const claimAtOnce = [0, 1, 2].map((human) => run(asked, { kind: "claim", human, delayMs: 0 }, seen));
        outcomes.push(...(await Promise.all(claimAtOnce)));
        const { run: winner } = (await asked.read(key)).body;
        const claims = outcomes.filter((one) => one.startsWith("claimed by"));
        expect(new Set(claims)).toEqual(new Set(winner === null ? [] : [`claimed by ${winner}`]));
        if (status === "approved") await embed(asked, human_authorization);
        const late = await run(asked, { kind: "claim", human: 3, delayMs: 0 }, seen);
        expect(late).toBe(status === "approved" ? "authorization_already_used" : `authorization_${status}`);
        const uses = await query(
          "SELECT count(*)::int AS n FROM attestations WHERE authorization_id = $1",
          id,
        );
        expect(uses).toBe(status === "approved" ? 1 : 0);
        expect(count("attested")).toBeLessThanOrEqual(1);
      }),
      // A loaded machine may do fewer runs, never none.
      { numRuns: 40, interruptAfterTimeLimit: 60_000 },
    );
  });

  it("takes no decision that was begun in time and comes to be stored late", async () => {
    const { context } = test.app;
    const { log } = context;
    const ends = [
      (asked: AskedRequest) => asked.deny(),
      (asked: AskedRequest) => test.call("DELETE", `/v1/authorize/${asked.made.request_id}`, { key }),
      (asked: AskedRequest) => {
        nonce += 1n;
        return acceptApproval(
          context,
          asked.made.request_id,
          { proof: provenBy(1, nonce), approver: null },
          null,
        ).catch(({ errorName }: { errorName: string }) => ({ status: 409, body: { code: errorName } }));
      },
    ];
    for (const end of ends) {
      const asked = await ask(test, key);
      context.log = {
        ...log,
        submit: async (itemKind, item) => {
          await run(asked, { kind: "expire", human: 0, delayMs: 0 }, []);
          return log.submit(itemKind, item);
        },
      };
      const answer = await end(asked);
      context.log = log;
      expect([answer?.status, answer?.body.code]).toEqual([409, "authorization_not_pending"]);
      expect((await asked.read()).body).toMatchObject({ status: "expired", approvals: { given: 0 } });
    }
  });

  it("fixes the protocol version with the first approval, so that nobody counts twice", async () => {
    const asked = await ask(test, key, { approvals_required: 2 });
    const id = asked.made.request_id;
    await acceptApproval(test.app.context, id, { proof: provenBy(1, 8_001n), approver: null }, null);
    const v4 = {
      ...provenBy(2, 8_002n),
      protocol_version: "4.0",
      level: "proof_of_human",
      issuer_schema_id: 1,
      expires_at_min: 1,
      proof: [1n, 2n, 3n, 4n, 5n].map(wordHex),
    } as ProvenApproval;
    await expect(
      acceptApproval(test.app.context, id, { proof: v4, approver: null }, null),
    ).rejects.toMatchObject({
      errorName: "approval_refused",
    });
    const elsewhere: ProvenApproval = { ...provenBy(2, 8_003n), environment: "production" };
    await expect(
      acceptApproval(test.app.context, id, { proof: elsewhere, approver: null }, null),
    ).rejects.toMatchObject({
      errorName: "approval_refused",
    });
    expect((await asked.read()).body).toMatchObject({ status: "pending", approvals: { given: 1 } });
  });
});
