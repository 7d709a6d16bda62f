/**
 * Guarantee: whoever reads of an action reads the same facts, wherever they read: one set of samples goes through every
 * output, and each says how much, who decided and, where its readers may know it, to whom.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { AppRouterContext } from "next/dist/shared/lib/app-router-context.shared-runtime";
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FeedTable } from "#components/agent/feed-table";
import { Outcome } from "#components/approve/outcome";
import { ActionBlock, ContextBlock } from "#components/approve/request-blocks";
import { RequestConditions } from "#components/approve/request-conditions";
import { Spending, Timeline } from "#components/portal/agents/agent-timeline";
import { AuthorizationFacts } from "#components/portal/approvals/authorization-facts";
import { AuthorizationTable } from "#components/portal/approvals/authorization-table";
import { InboxTable } from "#components/portal/approvals/inbox-table";
import { StandingTable } from "#components/portal/approvals/standing-table";
import { AttestationFacts } from "#components/portal/attestations/attestation-facts";
import { AttestationTable } from "#components/portal/attestations/attestation-table";
import { ReportView } from "#components/verify/report-view";
import { describeBadge, describeCard } from "#components/verify/share-words";
import { VerificationView } from "#components/verify/verification-view";
import type { MemberPrincipal } from "#lib/api/http/context";
import { shortenDecided } from "#lib/protocol/approval/decided-words";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import { verifyForPage } from "#lib/server/pages/public-pages";
import type { Mail } from "#lib/services/accounts/context";
import { saveNoticeSettings } from "#lib/services/accounts/mails";
import { listInbox, readApprovalView } from "#lib/services/approvals/decision/inbox";
import {
  listOwnAuthorizations,
  readAgentFile,
  readOwnAuthorization,
} from "#lib/services/approvals/portal-authorizations";
import { readAgentFeed, writeAtomFeed, writeJsonFeed } from "#lib/services/attestations/feed";
import {
  exportOwnAttestations,
  listOwnAttestations,
  readOwnAttestation,
} from "#lib/services/attestations/own";
import { describeState } from "#lib/services/mcp/tools";
import { createNotices } from "#lib/services/notifications/send";
import { makeEvidencePack } from "#lib/services/packs/pack";
import { composeChat } from "#lib/services/webhooks/chat";
import { verifyInBrowser } from "#lib/verifier/browser";
import { startTestApp, type TestApp } from "#support/app";
import { approveUnproven, ask } from "#support/authorizations";
import { runProgram } from "#support/commands";
import { enrolGroup } from "#support/enrol";
import { collect, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { findPython, pythonFolder } from "#support/python";
import { runHere } from "#support/verifier-run";

const python = await findPython("core");
if (python.missing) console.warn(`Skipped: the facts as Python says them. ${python.missing}`);

const slug = "treasury-bot";
const ownerEmail = "owner@example.com";
const approverEmail = "carol@example.com";

interface Sample {
  /** The amount that was asked for. */
  readonly amount: { readonly value: string; readonly currency: string };
  readonly tool: string;
  /** The amount as every page words it. */
  readonly cost: string;
  readonly decided: { readonly toMembers: string; readonly toPublic: string };
}

const byRule = "Rule small-amounts allowed it. Nobody was asked.";
const byGrant = "Standing approval: use 1 of 3, 350.00 of 500.00 EUR left when it was used";
const samples = {
  people: {
    amount: { value: "12000.50", currency: "EUR" },
    tool: "transfer",
    cost: "12,000.50 EUR",
    decided: {
      toMembers: "2 members of finance, by passkey",
      toPublic: "2 members of a group, by passkey",
    },
  },
  rule: {
    amount: { value: "1500", currency: "JPY" },
    tool: "tip",
    cost: "1,500 JPY",
    decided: { toMembers: byRule, toPublic: byRule },
  },
  grant: {
    amount: { value: "150.00", currency: "EUR" },
    tool: "pay",
    cost: "150.00 EUR",
    decided: { toMembers: byGrant, toPublic: byGrant },
  },
} as const satisfies Record<string, Sample>;
type Kind = keyof typeof samples;
const kinds = Object.keys(samples) as Kind[];

/** Words of the rules when it was asked for. */
const explained = {
  people: "No rule of version 1 allows it without asking, so people are asked. Counted: 0 requests",
  rule: "Rule small-amounts of version 1 allows it without asking: the tool is tip. Counted: 1 request",
  grant: "No rule of version 1 allows it without asking, so people are asked. Counted: 2 requests",
};

const payee = "Example Ltd";
const rules = `@id("small-amounts") permit (principal, action == Action::"act", resource == Tool::"tip");`;

/** Text of HTML as a person reads it. */
const read = (html: string) =>
  html
    .replaceAll(/<(?:style|script|details)[\s\S]*?<\/(?:style|script|details)>/g, " ")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&#x27;|&#39;/g, "'")
    .replaceAll(/\s+/g, " ");
const render = (node: ReactNode) => read(renderToStaticMarkup(node));

describe("one set of samples through every output", () => {
  let test: TestApp;
  let owner: MemberPrincipal;
  let key: string;
  let folder: string;
  const sent: Mail[] = [];
  const asked = {} as Record<Kind, Awaited<ReturnType<typeof ask>>>;
  const attested = {} as Record<Kind, { id: string; receipt: string }>;

  const askFor = (body: object) =>
    ask(test, key, { agent_slug: slug, action: "Pay invoice 7", context: { payee }, ...body });

  /** Approves as both people of the group. */
  async function approveAll(token: string, people: Awaited<ReturnType<typeof enrolGroup>>) {
    for (const { passkey } of people) {
      const view = await readApprovalView(test.app.context, token);
      const challenge = approvalChallenge(view?.binding.request_hash ?? "", "approve");
      const { public_key: _key, ...assertion } = passkey.assert(challenge, {});
      const headers = { origin: "http://localhost:3000" };
      const body = { passkey: assertion };
      const { status } = await test.call("POST", `/approve/${token}/passkey`, { headers, body });
      expect(status).toBe(200);
    }
  }

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "countersign-facts-"));
    test = await startTestApp();
    const { context } = test.app;
    owner = await signInPerson(context, ownerEmail);
    ({ key } = await test.createKey(ownerEmail));
    const people = await enrolGroup(test, ownerEmail, "finance", "Carol", "Dave");
    const carol = await signInPerson(context, approverEmail);
    await saveNoticeSettings(context, carol, owner.organizationId, {
      requests: "named",
      decisions: true,
      reminders: false,
    });
    context.mailer = { send: async (mail) => void sent.push(mail) };
    const put = await test.call("PUT", "/v1/rules", { key, body: { text: rules, mode: "enforce" } });
    expect(put.status).toBe(200);

    const { people: first, rule, grant } = samples;
    const required_approvers = [{ group: "finance", count: 2 }];
    const byPasskey = { required_approvers, required_level: "none", approvers: ["finance"] };
    asked.people = await askFor({ amount: first.amount, tool: first.tool, ...byPasskey });
    // Both mails: that it waits, and what became of it.
    await createNotices(context).run();
    await approveAll(asked.people.token, people);
    await createNotices(context).run();
    asked.rule = await askFor({ amount: rule.amount, tool: rule.tool });
    const limits = { max_calls: 3, max_amount: "200.00", max_budget: "500", currency: "EUR" };
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const given = await askFor({
      action: "Pay invoices",
      grant: { tools: [grant.tool], ...limits, expires_at },
    });
    await approveUnproven(test, given.made.request_id);
    asked.grant = await askFor({ amount: grant.amount, tool: grant.tool });

    for (const kind of kinds) {
      const { body: state } = await asked[kind].read(key);
      expect(state.status, kind).toBe("approved");
      const { action, human_authorization } = state;
      const body = { agent_slug: slug, action, inputs_hash: "sha256:1", human_authorization };
      const made = await test.call("POST", "/v1/attest", { key, body });
      expect(made.status, kind).toBe(201);
      const id = made.body.attestation_id as string;
      const receipt = JSON.stringify((await test.call("GET", `/v1/verify/${id}`)).body);
      attested[kind] = { id, receipt };
    }
  });
  afterAll(async () => {
    await test.close();
    rmSync(folder, { recursive: true });
  });

  const pageOf = (kind: Kind) => verifyForPage(test.app.context, attested[kind].id, "192.0.2.1");
  const keysFile = async () => {
    const file = path.join(folder, "keys.json");
    writeFileSync(file, JSON.stringify((await test.call("GET", "/v1/pubkey")).body));
    return file;
  };

  /** Expects the amount, the tool and the deciders, in the words for these readers. */
  function expectFacts(kind: Kind, readers: "toMembers" | "toPublic", text: string) {
    const { cost, tool, decided } = samples[kind];
    for (const fact of [cost, tool, decided[readers]]) expect(text, kind).toContain(fact);
    for (const other of kinds.filter((one) => one !== kind)) expect(text).not.toContain(samples[other].cost);
  }

  describe.each(kinds)("%s", (kind) => {
    it("on the receipt, which is also what is printed, without names and ids", async () => {
      const verification = await pageOf(kind);
      expect(verification.answer.valid).toBe(true);
      const html = renderToStaticMarkup(
        <VerificationView verification={verification} base="http://localhost:3000" />,
      );
      const [first = ""] = html.split("data-print-proof");
      expectFacts(kind, "toPublic", read(first));
      for (const secret of [payee, "finance", "Carol"]) expect(read(first)).not.toContain(secret);
      // A mark about a person beside "nobody was asked" would contradict it.
      const isPeople = kind === "people";
      expect(read(first).includes("TEST approval, not a real person")).toBe(isPeople);
      expect(read(first).includes("TEST instance")).toBe(!isPeople);
      // The approval that gave it is an entry of the agent's record, which anybody can read.
      const [, entry] =
        /href="(\/v1\/agent\/[^"]*\/record\?[^"]*)"[^>]*>the approval that gave it/.exec(first) ?? [];
      expect(entry === undefined).toBe(kind !== "grant");
      if (entry !== undefined) {
        const { entries } = (await test.call("GET", entry.replaceAll("&amp;", "&"))).body;
        expect(entries).toMatchObject([{ kind: "decision" }]);
      }
      if (isPeople)
        expect(read(first)).toMatch(/Person 1, by passkey, \d{4}-.* Person 2, by passkey, \d{4}-/);
    });

    it("on the picture that chats show, and in the badge", async () => {
      const verification = await pageOf(kind);
      const { amount, decided } = describeCard(verification);
      expect(amount).toBe(samples[kind].cost);
      expect(decided).toContain(samples[kind].decided.toPublic);
      expect(describeBadge(verification)).toContain(samples[kind].cost);
    });

    it("by verify.mjs, and by the page that verifies a file", async () => {
      const file = path.join(folder, `${kind}.json`);
      writeFileSync(file, attested[kind].receipt);
      const { out } = await runHere([file, "--keys", await keysFile()]);
      expectFacts(kind, "toPublic", out);
      expect(out).toMatch(/^TEST\. /);
      const report = await verifyInBrowser(
        attested[kind].receipt,
        JSON.parse(readFileSync(await keysFile(), "utf8")),
      );
      expectFacts(kind, "toPublic", render(<ReportView report={report} />));
    });

    it.skipIf(python.missing)("by Python's verify", async () => {
      const file = path.join(folder, `${kind}.json`);
      writeFileSync(file, attested[kind].receipt);
      const args = ["-m", "countersign_client", "verify", file, "--keys", await keysFile()];
      const env = { PYTHONPATH: pythonFolder, PYTHONDONTWRITEBYTECODE: "1" };
      expectFacts(kind, "toPublic", (await runProgram(python.path ?? "", args, { env })).out);
    });

    it("in the portal: the attestation and the approval, with names", async () => {
      const { verification, names, approval } = await readOwnAttestation(
        test.app.context,
        owner,
        attested[kind].id,
      );
      const facts = <AttestationFacts found={verification} names={names} approval={approval} />;
      expectFacts(kind, "toMembers", render(facts));
      expect(renderToStaticMarkup(facts)).toContain(`/portal/authorizations/${asked[kind].made.request_id}`);
      const state = await readOwnAuthorization(test.app.context, owner, asked[kind].made.request_id);
      const text = render(<AuthorizationFacts state={state} end={state.end} />);
      for (const fact of [explained[kind], attested[kind].id]) expect(text).toContain(fact);
      expect(text).toContain(samples[kind].cost);
      expect(text).toContain(payee);
      if (kind === "people") expect(text).toMatch(/Carol , by passkey .* Dave , by passkey/);
      else expect(text).toContain(samples[kind].decided.toMembers);
      const isUse = kind === "grant";
      expect(text.includes("The approval that gave it")).toBe(isUse);
    });

    it("on the approval page, before and after the decision", async () => {
      const view = await readApprovalView(test.app.context, asked[kind].token);
      if (view === null) throw new Error("no view");
      const blocks = render(
        <>
          <ActionBlock request={view.request} context={view.context} />
          <ContextBlock request={view.request} context={view.context} />
          <Outcome view={view} wasOpenedLate={false} />
          <RequestConditions view={view} onElapsed={() => {}} />
        </>,
      );
      expect(blocks).toContain(`What the rules said ${explained[kind]}`);
      for (const fact of [samples[kind].cost, samples[kind].tool, payee, samples[kind].decided.toMembers])
        expect(blocks).toContain(fact);
    });

    it.each(["slack", "teams"] as const)("in %s, to members", async (format) => {
      const { request_id } = asked[kind].made;
      const body = JSON.stringify({ type: "authorization.approved", data: { request_id } });
      const asMember = { organizationId: owner.organizationId, body, showsFacts: true };
      const text = (await composeChat(test.app.context, format, asMember)) ?? "";
      expectFacts(kind, "toMembers", text);
      expect(text).toContain(payee);
    });

    it("to agents that ask by MCP: who decided, if not people", async () => {
      const { body } = await asked[kind].read(key);
      const { decided = null } = describeState(body);
      const { toMembers } = samples[kind].decided;
      expect(decided?.replace(/\.$/, "") ?? null).toBe(
        kind === "people" ? null : toMembers.replace(/\.$/, ""),
      );
    });
  });

  it("in lists: attestations, approvals, the inbox and an agent's feed", async () => {
    const { context } = test.app;
    const page = { limit: 20, cursor: undefined };
    const own = (await listOwnAttestations(context, owner, {}, page)).rows;
    const attestations = render(<AttestationTable caption="" rows={own} empty={null} />);
    const { rows: requests } = await listOwnAuthorizations(context, owner, {
      ...page,
      status: undefined,
      agent_slug: undefined,
    });
    const approvals = render(<AuthorizationTable rows={requests} actions={() => null} empty={null} />);
    const { rows: decided } = await listInbox(context, owner, { ...page, isWaiting: false });
    const inbox = render(<InboxTable rows={decided} isWaiting={false} />);
    const feed = await readAgentFeed(context, slug, { limit: 20 });
    const entries = render(
      <FeedTable entries={feed.attestations} isFiltered={false} sort={{ isSorted: false, href: "" }} />,
    );
    for (const kind of kinds) {
      const { cost, tool, decided: words } = samples[kind];
      for (const list of [attestations, approvals, inbox, entries]) expect(list).toContain(cost);
      for (const list of [attestations, approvals]) expect(list).toContain(tool);
      const inCell = shortenDecided(words.toMembers);
      expect(attestations).toContain(inCell);
      expect(entries).toContain(words.toPublic);
      if (kind !== "people") expect(approvals).toContain(inCell);
      if (kind === "grant") expect(attestations + approvals).not.toContain("when it was used");
      for (const write of [writeJsonFeed, writeAtomFeed]) {
        expect(write("http://localhost:3000", feed)).toContain(`${cost}: Pay invoice 7`);
        expect(write("http://localhost:3000", feed)).toContain(words.toPublic);
      }
    }
    for (const list of [approvals, inbox]) expect(list).toContain(`to ${payee}`);
    for (const secret of ["finance", "Carol", payee]) expect(entries).not.toContain(secret);
  });

  it("in an agent's file: what is left of a standing approval, and the amounts that were approved", async () => {
    const { open, standing, decided, spending } = await readAgentFile(test.app.context, owner, slug);
    const table = render(
      <AppRouterContext.Provider value={{ refresh: () => {} } as never}>
        <StandingTable rows={standing} takeBack={async (state) => state} empty={null} />
      </AppRouterContext.Provider>,
    );
    for (const words of ["Pay invoices", "350.00 of 500.00 EUR left", "2 of 3"])
      expect(table).toContain(words);
    expect(render(<Spending sums={spending} />)).toMatch(
      /12,150\.50 EUR in 30 days, 12,150\.50 EUR of it today.*1,500 JPY/,
    );
    expect(open).toEqual([]);
    const { rows: attestations } = await listOwnAttestations(
      test.app.context,
      owner,
      {},
      { limit: 20, cursor: undefined },
    );
    const timeline = render(<Timeline attestations={attestations} decided={decided} stops={[]} />);
    for (const kind of kinds) expect(timeline.split(samples[kind].cost).length, kind).toBe(3);
  });

  it("in mails: in the subject before, and who decided after", () => {
    const mine = sent.filter(({ to, subject }) => to === approverEmail && subject.includes("asks you"));
    const [waiting, over] = mine;
    const { cost, tool, decided } = samples.people;
    for (const mail of [waiting, over])
      expect(mail?.subject).toContain(`${cost} to ${payee}: ${slug} asks you`);
    for (const fact of [cost, tool, payee]) expect(waiting?.text).toContain(fact);
    expect(over?.text).toContain(decided.toMembers);
    expect(over?.text).toMatch(/> Carol, by passkey, .*; Dave, by passkey,/s);
  });

  it("in the CSV, in columns that a spreadsheet adds up, and in a pack's report", async () => {
    const { context } = test.app;
    let csv = "";
    for await (const part of await exportOwnAttestations(context, owner, "csv", {})) csv += part;
    const lines = csv.split("\r\n").map((line) => line.split('","').map((cell) => cell.replaceAll('"', "")));
    const [header = [], ...rows] = lines;
    const column = (name: string) => header.indexOf(name);
    const rowOf = (kind: Kind) => rows.find((row) => row[column("tool")] === samples[kind].tool) ?? [];
    const cells = (kind: Kind, ...names: string[]) => names.map((name) => rowOf(kind)[column(name)]);
    expect(cells("people", "amount", "currency", "decided_by")).toEqual([
      "12000.50",
      "EUR",
      samples.people.decided.toMembers,
    ]);
    expect(cells("people", "approvers")[0]).toMatch(/^Carol, by passkey, .* UTC; Dave, by passkey, .* UTC$/);
    expect(cells("rule", "amount", "currency", "rule", "use")).toEqual(["1500", "JPY", "small-amounts", ""]);
    expect(cells("grant", "amount", "use", "rule")).toEqual(["150.00", "1 of 3", ""]);
    expect(cells("grant", "standing_approval")[0]).toMatch(/^areq_/);

    const day = 86_400_000;
    const at = (days: number) => new Date(Date.now() + days * day).toISOString();
    const pack = await makeEvidencePack(context, owner, {
      agentSlugs: [slug],
      period: { from: at(-1), to: at(1) },
      withPrivate: true,
    });
    const report = read(Buffer.from(unpack(await collect(pack.parts)).get("report.html") ?? []).toString());
    for (const kind of kinds) {
      expect(report).toContain(samples[kind].cost);
      expect(report).toContain(samples[kind].tool);
      // Packs keep their words.
      const { toPublic } = samples[kind].decided;
      expect(report).toContain(kind === "people" ? "2 of one group, by passkey" : toPublic);
    }
    expect(report).toContain("Attested actions EUR 2 12,150.50 EUR");
    expect(report).toContain("Attested actions JPY 1 1,500 JPY");
  });

  it("with a hook's call, by what it runs: in lists, facts and chats", async () => {
    const { context } = test.app;
    const call = await askFor({
      action: "Use the tool Bash",
      tool: "Bash",
      context: { description: "Publish", command: "git push --force" },
      required_approvers: [{ group: "finance", count: 1 }],
      required_level: "none",
    });
    const { request_id } = call.made;
    const query = { limit: 20, cursor: undefined };
    const all = { ...query, status: undefined, agent_slug: undefined };
    const [listed] = (await listOwnAuthorizations(context, owner, all)).rows;
    const carol = await signInPerson(context, approverEmail);
    const [waiting] = (await listInbox(context, carol, { ...query, isWaiting: true })).rows;
    expect([listed?.title, waiting?.title]).toEqual(["git push --force", "git push --force"]);
    const state = await readOwnAuthorization(context, owner, request_id);
    expect(render(<AuthorizationFacts state={state} end={null} />)).toMatch(
      /^ Command git push --force Action Use the tool Bash /,
    );
    const data = { request_id };
    const body = JSON.stringify({ type: "authorization.requested", data });
    const { organizationId } = owner;
    const message = await composeChat(context, "slack", { organizationId, body, showsFacts: true });
    expect(message).toContain("Call\\ngit push --force");
  });
});
