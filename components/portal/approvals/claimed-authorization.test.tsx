/** An approval that a run has claimed, before and after an attestation should have followed. */
import {
  AppRouterContext,
  type AppRouterInstance,
} from "next/dist/shared/lib/app-router-context.shared-runtime";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { UnfinishedRequests } from "#components/portal/rules/unfinished-requests";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import type { PersonDecision } from "#lib/api/schemas/portal";
import { AuthorizationFacts } from "./authorization-facts";
import { AuthorizationTable } from "./authorization-table";

type More = Partial<AuthorizationState> & { used?: { uses: number; spent: string } };

const testRow = {
  request_id: "areq_1",
  environment: "local",
  agent_slug: "bot",
  action: "Pay",
  title: "Pay",
  brief: null,
  amount: { value: "12000.5", currency: "EUR" },
  payee: null,
  tool: "transfer",
  decided_by: null,
  decidedNames: [],
  required_level: "device" as const,
  status: "approved" as const,
  approvals: { required: 1, given: 1 },
  created_at: "2026-11-22T10:00:00.000Z",
  expires_at: "2026-11-22T11:00:00.000Z",
  decided_at: "2026-11-22T10:30:00.000Z",
  approval_url: null,
  isTest: false,
  revoked_at: null,
  end: null,
};

function show(claim: Partial<More>, deciders: PersonDecision[] = []): string[] {
  const row = { ...testRow, ...(claim as object) };
  const table = <AuthorizationTable rows={[row]} actions={() => null} empty={null} />;
  const state = { ...(row as unknown as AuthorizationState), deciders };
  const facts = <AuthorizationFacts state={state} end={null} />;
  return [table, facts].map((page) => renderToStaticMarkup(page));
}

const claim = { claimed_at: "2026-11-22T10:31:00.000Z", run: "night-run" };

describe("an approval", () => {
  it("has its amount in a column of its own, with the currency's decimals", () => {
    for (const page of show({})) expect(page).toContain("12,000.50 EUR");
    const [table = ""] = show({});
    expect(table).toMatch(/>Amount<\/th>/);
    expect(show({ amount: null })[0]).not.toContain("Amount");
  });

  it("is of another request if an approver changed this one, which is not called cancelled", () => {
    const [table = "", facts = ""] = show({ status: "cancelled", amended_by: "areq_2" });
    expect(table).toContain(">Changed<");
    expect(facts).toContain("/portal/authorizations/areq_2");
    for (const page of [table, facts]) expect(page).not.toMatch(/cancelled/i);
    expect(show({ status: "cancelled" })[0]).toContain(">Cancelled<");
  });

  it("is stopped on the page of rules only by those whose role may", () => {
    const row = { ...testRow, approvedBy: "people" as const, isPending: false, isClaimed: false, stop: null };
    const stop = {
      takeBack: () => Promise.reject(new Error("pressed")),
      cancel: () => Promise.reject(new Error("pressed")),
    };
    const [shown = "", hidden] = [stop, null].map((given) =>
      renderToStaticMarkup(
        <AppRouterContext value={{} as AppRouterInstance}>
          <UnfinishedRequests
            rows={[row, { ...row, request_id: "areq_2", isPending: true }]}
            hasMore={false}
            sort={{ isSorted: false, href: "/portal/rules" }}
            stop={given}
          />
        </AppRouterContext>,
      ),
    );
    for (const word of ["Stop it", "Take back", "Cancel"]) {
      expect(shown).toContain(word);
      expect(hidden).not.toContain(word);
    }
    // The row may cut the name.
    expect(shown).toContain('href="/portal/agents/bot"');
  });

  it("is in the list's order, whose header leads to the other", () => {
    const list = (isSorted: boolean) =>
      renderToStaticMarkup(
        <AuthorizationTable
          rows={[testRow]}
          actions={null}
          empty={null}
          sort={{ isSorted, href: "?other" }}
        />,
      );
    expect(list(true)).toContain('aria-sort="descending"');
    for (const html of [list(true), list(false)]) expect(html).toContain('href="?other"');
  });

  it("is marked TEST outside production, but in lists of an instance that says so once", () => {
    const row = { ...testRow, approvals: { required: 1, given: 1 } };
    const list = (isTestSaid: boolean) =>
      renderToStaticMarkup(
        <AuthorizationTable rows={[row]} actions={() => null} empty={null} isTestSaid={isTestSaid} />,
      );
    expect(list(false)).toContain("TEST");
    expect(list(true)).not.toContain("TEST");
  });

  it("is marked TEST outside production, also if a rule gave it and no person", () => {
    const approvals = { required: 1, given: 0 };
    expect(show({ approvals })[0]).toContain("TEST");
    expect(show({ approvals, environment: "production" })[0]).not.toContain("TEST");
    expect(show({ approvals, status: "pending" })[0]).not.toContain("TEST");
  });

  it("made with a test wallet names no person", () => {
    const given = {
      decision: "approved",
      who: null,
      by: "World ID",
      at: "2026-11-22T10:30:00.000Z",
    } as const;
    const words = (environment: "local" | "staging" | "production") =>
      (show({ environment }, [given])[1] ?? "").replaceAll(/<[^>]*>/g, "");
    expect(words("local")).toContain("Approved byA test wallet ·");
    expect(words("staging")).not.toContain("A person");
    expect(words("production")).toContain("Approved byA person, by World ID ·");
  });

  it("for which nobody was asked counts no people", () => {
    const decided_by = { kind: "rule", ruleset_hash: "a", policy_ids: ["small"] };
    const changes = { decided_by, approvals: { required: 1, given: 0 } } as unknown as AuthorizationState;
    const [table = "", facts = ""] = show(changes);
    expect(facts).toContain("Rule small allowed it. Nobody was asked.");
    expect(table).toContain("Rule small allowed it. Nobody was asked.");
    for (const page of [table, facts]) expect(page).not.toContain("0 of 1");
    const count = (status: AuthorizationState["status"]) =>
      (show({ ...changes, status, decided_by: null })[0] ?? "").includes("0 of 1");
    expect((["pending", "denied", "cancelled", "expired"] as const).filter(count)).toEqual(["pending"]);
  });

  it("that a freeze denied gives its reason once", () => {
    const denial_reason = "The organization has frozen this agent.";
    const [, facts = ""] = show({ status: "denied", decided_by: { kind: "freeze" }, denial_reason });
    expect(facts).toContain("Denied: the organization has frozen this agent.");
    expect(facts).not.toContain(denial_reason);
    const decided_by = { kind: "people" } as AuthorizationState["decided_by"];
    expect(show({ status: "denied", decided_by, denial_reason: "No." })[1]).toContain("Reason given");
  });

  it("that is a standing one shows its terms", () => {
    const grant = {
      tools: ["bank.pay"],
      max_calls: 20,
      max_amount: "50",
      max_budget: "500",
      currency: "EUR",
      expires_at: "2026-12-01T00:00:00.000Z",
    };
    const text = (show({ grant })[1] ?? "").replaceAll(/<[^>]*>/g, "");
    expect(text).not.toContain("Used so far");
    const used = show({ grant, used: { uses: 3, spent: "99.9" } })[1] ?? "";
    expect(used).toContain("3 of 20 uses, 400.10 of 500.00 EUR left");
    for (const term of [
      "Up to 500.00 EUR in all, 20 uses",
      "At most 50.00 EUR each",
      "bank.pay",
      "2026-12-01",
    ])
      expect(text).toContain(term);
  });
});

describe("a claimed approval", () => {
  it("names its run, and warns only once an attestation is missing for an hour", () => {
    const [table = "", facts = ""] = show({ ...claim, unattested_at: null });
    expect(facts).toMatch(/>Claimed<\/dt>.*night-run/s);
    expect(table + facts).not.toMatch(/never attested/i);
    expect(show({}).join("")).not.toContain("Claimed");
  });

  it("is shown as taken back, with the reason, if it was", () => {
    const back = { revoked_at: "2026-11-22T10:40:00.000Z", revocation_reason: "Wrong <account>" };
    const [table = "", facts = ""] = show({ ...claim, ...back });
    expect(table).toContain("Taken back");
    expect(facts).toMatch(/>Taken back<\/dt>.*Wrong &lt;account&gt;/s);
    expect(show(claim).join("")).not.toContain("Taken back");
  });

  it("says so in the list and on its page when none followed", () => {
    const [table = "", facts = ""] = show({ ...claim, unattested_at: "2026-11-22T11:31:00.000Z" });
    expect(table).toContain("Claimed, never attested");
    expect(facts).toMatch(/>Never attested<\/dt>.*ran without a record/s);
  });
});

it.each([
  ["denied", ["Dave"], "Dave"],
  ["denied", [], "Whoever had the link"],
  ["approved", ["Carol", "Dave"], "Carol, Dave"],
  ["approved", [], "1 of 1 approval"],
  ["pending", ["Carol"], "1 of 1 approval"],
] as const)("names who %s a request in the list: %j", (status, decidedNames, words) => {
  const rows = [{ ...testRow, status, decidedNames, decided_by: { kind: "people" as const } }];
  const html = renderToStaticMarkup(<AuthorizationTable rows={rows} actions={() => null} empty={null} />);
  expect(html.replaceAll(/<[^>]*>/g, " ")).toMatch(new RegExp(`Decided by\\s+${words}\\s`));
});

it.each([
  ...[
    "Pay invoice 7",
    "Pay invoice 7 to Example Ltd",
    "Pay Example Ltds",
    "Pay Ann, and Example Ltd the fee",
  ],
  `Pay invoice 7 ${"of Ann ".repeat(12)}Example Ltd`,
])("names the payee of “%s” once", (title) => {
  const rows = [{ ...testRow, title, payee: "Example Ltd" }];
  const html = renderToStaticMarkup(<AuthorizationTable rows={rows} actions={() => null} empty={null} />);
  expect(html.replaceAll(/<[^>]*>/g, "").split("to Example Ltd")).toHaveLength(2);
});
