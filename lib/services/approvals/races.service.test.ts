/**
 * Uses of an approval against all that ends it, in any order and at once: approve, deny, cancel, expire, claim, attest,
 * take back, freeze, forbid by a rule. Each request has one outcome, one run and one use; each answer is what the log's order
 * and the rows say; and the whole log is checked after each round.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkStoredLogs } from "#lib/log/reading/history";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import { acceptApproval, type ProvenApproval } from "#lib/services/approvals/decision/decide";
import type { TestAnswer } from "#support/app";
import { type AskedRequest, approveUnproven, ask, provenBy } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const kinds = ["waiting", "waiting for two", "approved", "covered"] as const;
const uses = ["approve", "claim", "attest"] as const;
const ends = [
  "deny",
  "cancel",
  "expire",
  "revoke",
  "revoke standing",
  "freeze",
  "unfreeze",
  "forbid",
  "allow",
] as const;
const act = fc.record({
  name: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...uses) },
    { weight: 2, arbitrary: fc.constantFrom(...ends) },
    { weight: 1, arbitrary: fc.constantFrom("read", "attest without" as const) },
  ),
  human: fc.nat({ max: 2 }),
  delayMs: fc.oneof(fc.nat({ max: 25 }), fc.nat({ max: 100 })),
});
const plan = fc.record({
  kind: fc.constantFrom(...kinds),
  acts: fc.array(act, { minLength: 2, maxLength: 8 }),
});
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

/** Rounds go on until each of these was seen. */
const wanted = [
  "approve counted",
  "approve agent_frozen",
  "approve rule_forbids",
  "approve authorization_not_pending",
  "deny 200",
  "cancel 200",
  "claim 200",
  "claim authorization_revoked",
  "claim agent_frozen",
  "claim rule_forbids",
  "attest 201",
  "attest authorization_revoked",
  "attest agent_frozen",
  "attest authorization_forbidden",
  "attest authorization_already_used",
  "revoke 200",
  "revoke already_used",
  "revoke standing 200",
];

/** The agent's last change before a leaf, and whether the organization's rules forbade everything then. */
const changeBefore = (leaf: string) => `(SELECT c.change FROM agent_changes c
  WHERE c.agent_id = r.agent_id AND c.change <> 'authorization_revoked' AND c.leaf_index < ${leaf}
  ORDER BY c.leaf_index DESC LIMIT 1)`;
const forbiddenBefore = (
  time: string,
  is = "leaf_index <",
) => `(SELECT s.text LIKE '%forbid%' FROM rule_sets s
  WHERE s.organization_id = r.organization_id AND s.${is} ${time} ORDER BY s.number DESC LIMIT 1)`;
const isStopped = "convert_from(a.payload, 'UTF8') LIKE '%\"approval_stopped\"%'";

/** Rows that the log's order or the clock says can't be, whatever raced. */
const impossible = {
  "an approval of a frozen agent, or that a rule forbade": `SELECT r.id FROM authorization_requests r
    WHERE r.status = 'approved' AND (${changeBefore("r.leaf_index")} = 'frozen' OR ${forbiddenBefore("r.leaf_index")})`,
  "an attestation with an approval of a frozen agent": `SELECT r.id FROM authorization_requests r
    JOIN attestations a ON a.id = r.attestation_id WHERE ${changeBefore("a.leaf_index")} = 'frozen'`,
  "an attestation that doesn't say that its agent was frozen, or says so of one that was not": `
    SELECT r.id FROM attestations r
    WHERE (coalesce(${changeBefore("r.leaf_index")}, '') = 'frozen') <> ('agent_frozen' = ANY(coalesce(r.warnings, '{}')))`,
  "an attestation of what was taken back": `SELECT r.id FROM authorization_requests r
    JOIN attestations a ON a.id = r.attestation_id JOIN agent_changes c ON c.request_id = r.id
    WHERE c.leaf_index < a.leaf_index`,
  "an attestation of what a rule forbade or whose standing approval was taken back, unless it was claimed before and says so": `
    SELECT r.id FROM authorization_requests r JOIN attestations a ON a.id = r.attestation_id
    WHERE (r.claimed_at IS NULL OR NOT ${isStopped}) AND (${forbiddenBefore("a.leaf_index")} OR EXISTS (
      SELECT FROM agent_changes c WHERE c.request_id = r.grant_id AND c.leaf_index < a.leaf_index))`,
  "a claim of what was taken back, or whose standing approval was": `SELECT r.id FROM authorization_requests r
    JOIN authorization_requests given ON given.id IN (r.id, r.grant_id)
    WHERE date_trunc('milliseconds', r.claimed_at) > given.revoked_at`,
  "a taking back of what was used, or twice": `SELECT r.id FROM authorization_requests r
    JOIN agent_changes c ON c.request_id = r.id GROUP BY r.id
    HAVING count(*) > 1 OR r.attestation_id IS NOT NULL AND r.revoked_at IS NOT NULL`,
  "a claim of what a rule forbade": `SELECT r.id FROM authorization_requests r JOIN rule_sets s USING (organization_id)
    WHERE s.text LIKE '%forbid%' AND date_trunc('milliseconds', r.claimed_at) > s.created_at AND NOT EXISTS (
      SELECT FROM rule_sets n WHERE n.organization_id = s.organization_id AND n.number = s.number + 1
        AND n.created_at <= r.claimed_at)`,
};

describe("races", () => {
  const { test, key } = setupTestApp(anyKind, {
    LIMIT_AUTHORIZE_PER_MINUTE: "1000000",
    LIMIT_AUTHORIZE_PENDING: "1000000",
    LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: "1000000",
    LIMIT_ATTEST_PER_MINUTE: "1000000",
    LIMIT_ATTEST_PER_DAY: "1000000",
    LIMIT_KEYED_PER_MINUTE: "1000000",
    LIMIT_READ_AUTHORIZATION_PER_MINUTE: "1000000",
  });
  let nonce = 1n;
  let made = 0;
  /** Uses begin so many times later, until some of them come after each end: a machine with much to do saves a rule slowly. */
  let stretch = 1;

  const query = async (sql: string, ...values: unknown[]) => (await test.query(sql, values)).rows;
  const outcome = ({ status, body }: TestAnswer) => (status < 300 ? status : String(body.code));
  const expire = (id: string) =>
    query(
      "UPDATE authorization_requests SET expires_at = clock_timestamp() WHERE id = $1 AND status = 'pending'",
      id,
    );
  function approve(id: string, human: number): Promise<string> {
    nonce += 1n;
    const approval = { proof: provenBy(human, nonce), approver: null };
    return acceptApproval(test.app.context, id, approval, null).then(
      () => "counted",
      (error: { errorName?: string }) => error.errorName ?? String(error),
    );
  }

  /** One request of an organization of its own, to which everything happens. */
  async function prepare(kind: (typeof kinds)[number]) {
    made += 1;
    const agent_slug = `racer-${made}`;
    const { key } = await test.createKey(`${agent_slug}@example.com`);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const grant = { tools: ["pay"], max_calls: 1, expires_at };
    const given = kind === "covered" ? await ask(test, key, { agent_slug, grant }) : null;
    if (given) await approveUnproven(test, given.made.request_id);
    const required = kind === "waiting for two" ? 2 : 1;
    const asked = await ask(test, key, { agent_slug, tool: "pay", approvals_required: required });
    const { request_id: id, action } = asked.made;
    if (kind === "approved") await approveUnproven(test, id);
    const post = (path: string, body: object) => test.call("POST", path, { key, body });
    const attest = (human_authorization?: unknown) =>
      post("/v1/attest", { agent_slug, action, inputs_hash: "sha256:aa", human_authorization });
    const claim = (run: string) => post(`/v1/authorize/${id}/claim`, { run });
    const putRules = (text: string) => {
      made += 1;
      return test.call("PUT", "/v1/rules", { key, body: { text: `// ${made}\n${text}`, mode: "enforce" } });
    };
    const revoke = ({ made: { request_id } }: AskedRequest) =>
      post(`/v1/authorizations/${request_id}/revoke`, {});
    const state = async () => (await asked.read(key)).body;
    /** Each state that anybody saw. */
    const seen: string[] = [];
    const approved = kind === "approved" || kind === "covered" ? (await state()).human_authorization : null;
    async function perform({ name, human }: Act): Promise<string | number> {
      if (name === "approve") return approve(id, human);
      if (name === "deny") return outcome(await asked.deny());
      if (name === "cancel") return outcome(await test.call("DELETE", `/v1/authorize/${id}`, { key }));
      if (name === "claim") return outcome(await claim(`run ${human}`));
      if (name === "attest without") return outcome(await attest());
      if (name === "revoke") return outcome(await revoke(asked));
      if (name === "revoke standing") return given ? outcome(await revoke(given)) : "none";
      if (name === "freeze" || name === "unfreeze")
        return outcome(await post(`/v1/identity/${agent_slug}/${name}`, { reason: "stop" }));
      if (name === "forbid")
        return outcome(await putRules('@id("never") forbid (principal, action, resource);'));
      if (name === "allow")
        return outcome(
          await putRules('@id("one") permit (principal, action == Action::"act_approved", resource);'),
        );
      if (name === "expire") return String(await expire(id).then(() => "moved"));
      const { status, human_authorization } = approved
        ? { status: "approved", human_authorization: approved }
        : await state();
      seen.push(status);
      return name === "read" || status !== "approved" ? "read" : outcome(await attest(human_authorization));
    }
    return { id, required, claim, attest, state, seen, perform };
  }

  /** Answers that a claim and an attestation get now, by the facts alone; null if there is nothing to attest with. */
  async function judgeNow({ id, state }: Awaited<ReturnType<typeof prepare>>) {
    const { status, attestation_id, revoked_at, run } = await state();
    const [row] = await query(
      `SELECT given.revoked_at IS NOT NULL AS ended, agents.frozen_at, ${forbiddenBefore("1000000000")} AS forbidden
        FROM authorization_requests r JOIN agents ON agents.id = r.agent_id
        LEFT JOIN authorization_requests given ON given.id = r.grant_id WHERE r.id = $1`,
      id,
    );
    if (status !== "approved") return { claim: `authorization_${status}`, attest: null };
    const why =
      (attestation_id && "authorization_already_used") ??
      (revoked_at && "authorization_revoked") ??
      (row?.["frozen_at"] && "agent_frozen");
    if (why) return { claim: why, attest: why };
    const ended = row?.["ended"] ? "authorization_revoked" : null;
    const ruled = row?.["forbidden"] ? ["rule_forbids", "authorization_forbidden"] : [null, null];
    return {
      claim: ended ?? ruled[0] ?? (run ? "already_claimed" : 200),
      attest: run ? 201 : (ended ?? ruled[1] ?? 201),
    };
  }

  async function race({ kind, acts }: Plan, all: Set<string>): Promise<void> {
    const racer = await prepare(kind);
    const outcomes = await Promise.all(
      acts.map(async (one) => {
        const isUse = (uses as readonly string[]).includes(one.name);
        await new Promise((resolve) => setTimeout(resolve, one.delayMs * (isUse ? stretch : 1)));
        return `${one.name} ${await racer.perform(one)}`;
      }),
    );
    for (const one of outcomes) all.add(one);
    const count = (one: string) => outcomes.filter((what) => what === one).length;
    const { status, approvals, human_authorization, run, revoked_at, attestation_id } = await racer.state();
    expect(count("deny 200")).toBe(status === "denied" ? 1 : 0);
    expect(count("cancel 200")).toBe(status === "cancelled" ? 1 : 0);
    expect(count("attest 201")).toBe(attestation_id === null ? 0 : 1);
    expect(count("revoke 200") > 0).toBe(revoked_at !== null);
    if (kind !== "covered") {
      expect(approvals.given).toBe(count("approve counted") + (kind === "approved" ? 1 : 0));
      expect(approvals.given >= racer.required).toBe(status === "approved");
      expect(approvals.given).toBeLessThanOrEqual(racer.required);
      expect(human_authorization?.approvals.length ?? 0).toBe(status === "approved" ? racer.required : 0);
    }
    expect(racer.seen.filter((one) => one !== "pending" && one !== status)).toEqual([]);
    const decided = await query(
      "SELECT l.kind FROM authorization_requests r JOIN log_leaves l USING (log_id, leaf_index) WHERE r.id = $1",
      racer.id,
    );
    expect(decided).toHaveLength(["approved", "denied", "cancelled"].includes(status) ? 1 : 0);
    const claimed = acts.filter((_, i) => outcomes[i] === "claim 200").map(({ human }) => `run ${human}`);
    expect(new Set(claimed)).toEqual(new Set(run === null ? [] : [run]));
    const before = await judgeNow(racer);
    const late = (await Promise.all(["x", "y", "z"].map(racer.claim))).map(outcome);
    expect(late.sort(), outcomes.join()).toEqual(
      before.claim === 200 ? [200, "already_claimed", "already_claimed"] : Array(3).fill(before.claim),
    );
    const after = await judgeNow(racer);
    if (human_authorization) expect(outcome(await racer.attest(human_authorization))).toBe(after.attest);
    const used = await query("SELECT id FROM attestations WHERE authorization_id = $1", racer.id);
    expect(used).toHaveLength(attestation_id !== null || after.attest === 201 ? 1 : 0);
  }

  it("has one outcome, one run and one use, whatever happens at once", async () => {
    const seen = new Set<string>();
    const round = fc.asyncProperty(fc.array(plan, { minLength: 8, maxLength: 8 }), async (plans) => {
      await Promise.all(plans.map((one) => race(one, seen)));
      for (const [what, sql] of Object.entries(impossible))
        expect([what, await query(sql)]).toEqual([what, []]);
      const [log] = await checkStoredLogs(test.app.context.database.db, null);
      expect(log?.check).toMatchObject({ ok: true });
    });
    const missing = () => wanted.filter((one) => !seen.has(one));
    for (; stretch === 1 || (stretch <= 64 && missing().length > 0); stretch *= 4)
      await fc.assert(round, { numRuns: 30, endOnFailure: true });
    expect(missing()).toEqual([]);
  }, 600_000);

  it("takes no decision that was begun in time and comes to be stored late", async () => {
    const { context } = test.app;
    const { log } = context;
    const decisions = [
      (asked: AskedRequest) => asked.deny(),
      (asked: AskedRequest) => test.call("DELETE", `/v1/authorize/${asked.made.request_id}`, { key }),
      async (asked: AskedRequest) => ({
        status: 409,
        body: { code: await approve(asked.made.request_id, 1) },
      }),
    ];
    for (const decide of decisions) {
      const asked = await ask(test, key);
      context.log = {
        ...log,
        submit: async (itemKind, item) => {
          await expire(asked.made.request_id);
          return log.submit(itemKind, item);
        },
      };
      const answer = await decide(asked);
      context.log = log;
      expect([answer?.status, answer?.body.code]).toEqual([409, "authorization_not_pending"]);
      expect((await asked.read()).body).toMatchObject({ status: "expired", approvals: { given: 0 } });
    }
  });

  it("fixes the protocol version with the first approval, so that nobody counts twice", async () => {
    const asked = await ask(test, key, { approvals_required: 2 });
    const id = asked.made.request_id;
    await approveUnproven(test, id);
    const v4 = {
      ...provenBy(2, 8_002n),
      protocol_version: "4.0",
      level: "proof_of_human",
      issuer_schema_id: 1,
      expires_at_min: 1,
      proof: [1n, 2n, 3n, 4n, 5n].map(wordHex),
    } as ProvenApproval;
    const elsewhere: ProvenApproval = { ...provenBy(2, 8_003n), environment: "production" };
    for (const proof of [v4, elsewhere])
      await expect(
        acceptApproval(test.app.context, id, { proof, approver: null }, null),
      ).rejects.toMatchObject({ errorName: "approval_refused" });
    expect((await asked.read()).body).toMatchObject({ status: "pending", approvals: { given: 1 } });
  });
});
