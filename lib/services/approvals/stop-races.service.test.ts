/**
 * Taking back and freezing against whatever uses an approval at that moment: a hundred interleavings of each pair, twenty at a
 * time, and more until each side has won.
 * The log's order says what came first: no attestation used an approval that was taken back, of a standing approval that
 * was, of a frozen agent, or one that rules forbade.
 */
import { randomInt } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { checkStoredLogs } from "#lib/log/reading/history";
import type { TestAnswer } from "#support/app";
import { type AskedRequest, approveUnproven, ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const atOnce = 20;
const rounds = { least: 5, most: 20 };

describe("stopping against using", () => {
  const { test, key } = setupTestApp(anyKind, {
    LIMIT_AUTHORIZE_PER_MINUTE: "1000000",
    LIMIT_AUTHORIZE_PENDING: "1000000",
    LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: "1000000",
    LIMIT_ATTEST_PER_MINUTE: "1000000",
    LIMIT_ATTEST_PER_DAY: "1000000",
    LIMIT_KEYED_PER_MINUTE: "1000000",
    LIMIT_READ_AUTHORIZATION_PER_MINUTE: "1000000",
  });
  let made = 0;

  const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;
  const post = (path: string, body: object) => test.call("POST", path, { key, body });
  const freeze = (slug: string) => post(`/v1/identity/${slug}/freeze`, { reason: "stop" });
  const unfreeze = (slug: string) => post(`/v1/identity/${slug}/unfreeze`, {});
  const revoke = ({ made: { request_id } }: AskedRequest) =>
    post(`/v1/authorizations/${request_id}/revoke`, {});
  const claim = ({ made: { request_id } }: AskedRequest, run = "run") =>
    post(`/v1/authorize/${request_id}/claim`, { run });
  const attest = ({ made: { agent_slug, action } }: AskedRequest, human_authorization?: unknown) =>
    post("/v1/attest", { agent_slug, action, inputs_hash: "sha256:aa", human_authorization });
  /** The stopping request begins this many milliseconds after the using one; if negative, that long before it. */
  let delayMs = 0;
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms + randomInt(0, 12)));
  const stop = <T>(act: () => Promise<T>): Promise<T> => wait(Math.max(0, delayMs)).then(act);
  const use = <T>(act: () => Promise<T>): Promise<T> => wait(Math.max(0, -delayMs)).then(act);
  const outcome = ({ status, body }: TestAnswer) => (status < 300 ? status : String(body.code));
  const isUsed = (what: string) => /(20[01]|approved|used)$/.test(what);

  /** Who won nearly all of a round begins later in the next one, and twice as late if that is not enough. */
  function createBalance() {
    delayMs = 0;
    let stepMs = 0;
    return (judged: readonly string[]) => {
      const used = judged.filter(isUsed).length / judged.length;
      const towards = used < 0.25 ? 1 : used > 0.75 ? -1 : 0;
      stepMs = towards * Math.max(8, 2 * towards * stepMs);
      delayMs += stepMs;
    };
  }

  interface Racer {
    asked: AskedRequest;
    object: unknown;
    /** The standing approval that it is a use of. */
    given?: AskedRequest;
  }

  async function prepare(agent_slug: string, kind: "waiting" | "approved" | "covered"): Promise<Racer> {
    if (kind === "covered") {
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      const given = await ask(test, key, { agent_slug, grant: { tools: ["pay"], max_calls: 1, expires_at } });
      await approveUnproven(test, given.made.request_id);
      const asked = await ask(test, key, { agent_slug, tool: "pay" });
      return { given, asked, object: (await asked.read()).body.human_authorization };
    }
    const asked = await ask(test, key, { agent_slug });
    if (kind === "waiting") return { asked, object: null };
    await approveUnproven(test, asked.made.request_id);
    return { asked, object: (await asked.read()).body.human_authorization };
  }

  /** Twenty agents with a request each, in rounds; both acts of each at once. Each of the outcomes has to come. */
  async function race(
    kind: "waiting" | "approved" | "covered",
    outcomes: readonly string[],
    judge: (asked: AskedRequest, object: unknown, given: AskedRequest) => Promise<string>,
    beside: { before?: () => Promise<unknown>; meanwhile?: () => Promise<unknown> } = {},
  ): Promise<void> {
    const seen = new Map<string, number>();
    const balance = createBalance();
    const isMissing = () => outcomes.some((one) => !seen.has(one));
    for (let round = 0; round < rounds.least || (round < rounds.most && isMissing()); round += 1) {
      await beside.before?.();
      const prepared = await Promise.all(
        Array.from({ length: atOnce }, () => {
          made += 1;
          return prepare(`racer-${made}`, kind);
        }),
      );
      const [judged] = await Promise.all([
        Promise.all(prepared.map(({ asked, object, given = asked }) => judge(asked, object, given))),
        beside.meanwhile?.(),
      ]);
      for (const what of judged) seen.set(what, (seen.get(what) ?? 0) + 1);
      balance(judged);
    }
    expect([...seen.keys()].sort()).toEqual([...outcomes].sort());
  }

  /** Rows that the log's order or the clock says can't be, whatever raced. */
  const impossible = {
    "an attestation after the change that forbade it": `
      SELECT r.id FROM authorization_requests r JOIN attestations a ON a.authorization_id = r.id
      JOIN LATERAL (
        SELECT c.change FROM agent_changes c WHERE c.log_id = a.log_id AND c.leaf_index < a.leaf_index
          AND (c.request_id = r.id OR (c.agent_id = r.agent_id AND c.change <> 'authorization_revoked'))
        ORDER BY c.leaf_index DESC LIMIT 1
      ) AS before ON before.change <> 'unfrozen'`,
    "an attestation that doesn't say that its agent was frozen, or says so of one that was not": `
      SELECT a.id FROM attestations a LEFT JOIN LATERAL (
        SELECT c.change FROM agent_changes c WHERE c.agent_id = a.agent_id AND c.leaf_index < a.leaf_index
          AND c.change <> 'authorization_revoked' ORDER BY c.leaf_index DESC LIMIT 1
      ) AS before ON true
      WHERE (coalesce(before.change, '') = 'frozen') <> ('agent_frozen' = ANY(coalesce(a.warnings, '{}')))`,
    "a claim of what was taken back": `
      SELECT id FROM authorization_requests WHERE date_trunc('milliseconds', claimed_at) > revoked_at`,
    "a claim of a use whose standing approval was taken back": `
      SELECT r.id FROM authorization_requests r JOIN authorization_requests given ON given.id = r.grant_id
      WHERE date_trunc('milliseconds', r.claimed_at) > given.revoked_at`,
    "an attestation after its standing approval was taken back": `
      SELECT r.id FROM authorization_requests r JOIN agent_changes c ON c.request_id = r.grant_id
      JOIN attestations a ON a.id = r.attestation_id WHERE a.leaf_index > c.leaf_index`,
  };

  afterEach(async () => {
    for (const [what, sql] of Object.entries(impossible))
      expect([what, await query(sql)]).toEqual([what, []]);
    const [log] = await checkStoredLogs(test.app.context.database.db, null);
    expect(log?.check).toMatchObject({ ok: true });
  });

  it.each([
    ["revoke", "attest", ["already_used 201", "200 authorization_revoked"]],
    ["revoke", "claim", ["200 200", "200 authorization_revoked"]],
    ["freeze", "attest", ["200 201", "200 agent_frozen"]],
    ["freeze", "claim", ["200 200", "200 agent_frozen"]],
  ] as const)("%s and %s", async (stopping, using, outcomes) => {
    const refusal = stopping === "revoke" ? "authorization_revoked" : "agent_frozen";
    await race("approved", outcomes, async (asked, object) => {
      const [stopped, used, unapproved] = await Promise.all([
        stop(() => (stopping === "revoke" ? revoke(asked) : freeze(asked.made.agent_slug))),
        use(() => (using === "claim" ? claim(asked) : attest(asked, object))),
        use(() => attest(asked)),
      ]);
      expect(unapproved.status).toBe(201);
      const { revoked_at, attestation_id, run } = (await asked.read(key)).body;
      const isAttested = used.status === 201;
      expect([attestation_id !== null, run]).toEqual([isAttested, used.status === 200 ? "run" : null]);
      expect(revoked_at === null).toBe(isAttested || stopping === "freeze");
      expect(outcome(await attest(asked, object))).toBe(isAttested ? "authorization_already_used" : refusal);
      if (!isAttested) expect(outcome(await claim(asked))).toBe(refusal);
      return `${outcome(stopped)} ${outcome(used)}`;
    });
  });

  it("freeze and an approval whose proof is under way", async () => {
    await race("waiting", ["approved", "agent_frozen"], async (asked) => {
      const id = asked.made.request_id;
      const [, given] = await Promise.all([
        stop(() => freeze(asked.made.agent_slug)),
        use(() => approveUnproven(test, id)).then(
          () => "approved",
          ({ errorName }: { errorName: string }) => errorName,
        ),
      ]);
      expect((await asked.read()).body.status).toBe(given === "approved" ? "approved" : "pending");
      return given;
    });
    const late =
      await query(`SELECT r.id FROM authorization_requests r JOIN agent_changes c ON c.agent_id = r.agent_id
      WHERE r.status = 'approved' AND c.change = 'frozen' AND r.leaf_index > c.leaf_index`);
    expect(late, "decided after the freeze").toEqual([]);
  });

  it("freeze, unfreeze, attest and claim", async () => {
    await race("approved", ["used", "agent_frozen"], async (asked, object) => {
      const { agent_slug: slug } = asked.made;
      const answers = await Promise.all([
        stop(() => freeze(slug)),
        stop(() => unfreeze(slug)),
        stop(() => freeze(slug)),
        use(() => attest(asked, object)),
        use(() => claim(asked)),
      ]);
      expect(answers.slice(0, 3).map(({ status }) => status)).toEqual([200, 200, 200]);
      const { frozen_at } = (await test.call("GET", `/v1/identity/${slug}`)).body;
      const changes = await query(
        "SELECT c.change, c.changed_at FROM agent_changes c JOIN agents a ON a.id = c.agent_id WHERE a.slug = $1 ORDER BY c.leaf_index",
        slug,
      );
      expect(changes.map(({ change }) => change)).toEqual(
        ["frozen", "unfrozen", "frozen"].slice(0, changes.length),
      );
      expect(frozen_at === null).toBe(changes.at(-1)?.["change"] === "unfrozen");
      await unfreeze(slug);
      const used = outcome(answers[3]);
      expect(outcome(await attest(asked, object))).toBe(used === 201 ? "authorization_already_used" : 201);
      return used === 201 ? "used" : String(used);
    });
  });

  it("revoke a standing approval, and attest or claim its use", async () => {
    let turn = 0;
    await race(
      "covered",
      ["claim 200", "claim authorization_revoked", "attest 201", "attest authorization_revoked"],
      async (asked, object, given) => {
        turn += 1;
        const isClaim = turn % 2 === 0;
        const [revoked, used] = await Promise.all([
          stop(() => revoke(given)),
          use(() => (isClaim ? claim(asked) : attest(asked, object))),
        ]);
        expect(revoked.status).toBe(200);
        const again = used.status === 201 ? "authorization_already_used" : "authorization_revoked";
        expect(outcome(await claim(asked, "another"))).toBe(again);
        return `${isClaim ? "claim" : "attest"} ${outcome(used)}`;
      },
    );
  });

  it("save a rule that forbids, and attest, claim or approve", async () => {
    const put = async (text: string) => {
      const { status } = await test.call("PUT", "/v1/rules", { key, body: { text, mode: "enforce" } });
      expect(status).toBe(200);
    };
    let version = 0;
    const allow = () => {
      version += 1;
      return put(`// ${version}\n@id("one") permit (principal, action == Action::"act_approved", resource);`);
    };
    const never = '@id("never") forbid (principal, action, resource);';
    const acts = [
      ["attest", (asked: AskedRequest, object: unknown) => attest(asked, object)],
      ["claim", (asked: AskedRequest) => claim(asked)],
    ] as const;
    let turn = 0;
    await race(
      "approved",
      ["attest 201", "attest authorization_forbidden", "claim 200", "claim rule_forbids"],
      async (asked, object) => {
        turn += 1;
        const [name, act] = acts[turn % 2] ?? acts[0];
        return `${name} ${outcome(await use(() => act(asked, object)))}`;
      },
      { before: allow, meanwhile: () => stop(() => put(never)) },
    );
    await allow();
    await race(
      "waiting",
      ["approved", "rule_forbids"],
      (asked) =>
        use(() => approveUnproven(test, asked.made.request_id)).then(
          () => "approved",
          ({ errorName }: { errorName: string }) => errorName,
        ),
      { before: allow, meanwhile: () => stop(() => put(never)) },
    );
    const after = (
      leaf: string,
    ) => `EXISTS (SELECT FROM rule_sets s WHERE s.organization_id = r.organization_id
      AND s.text LIKE '%forbid%' AND s.leaf_index < ${leaf} AND NOT EXISTS (SELECT FROM rule_sets n
        WHERE n.organization_id = s.organization_id AND n.number = s.number + 1 AND n.leaf_index < ${leaf}))`;
    const late =
      await query(`SELECT r.id FROM authorization_requests r LEFT JOIN attestations a ON a.id = r.attestation_id
      WHERE r.status = 'approved' AND (${after("a.leaf_index")} OR ${after("r.leaf_index")})`);
    expect(late, "attested or approved after the rule").toEqual([]);
    const claimedLater = await query(`SELECT r.id FROM authorization_requests r JOIN rule_sets s
      ON s.organization_id = r.organization_id AND s.text LIKE '%forbid%' AND date_trunc('milliseconds', r.claimed_at) > s.created_at
      AND NOT EXISTS (SELECT FROM rule_sets n WHERE n.organization_id = s.organization_id AND n.number = s.number + 1
        AND n.created_at <= r.claimed_at)`);
    expect(claimedLater).toEqual([]);
  });
});
