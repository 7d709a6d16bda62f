/** The approval page's judgements: what its browser compares, what it shows large, and in which words. */
import { AppRouterContext } from "next/dist/shared/lib/app-router-context.shared-runtime";
import { renderToStaticMarkup as renderMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { proofStored } from "#lib/api/schemas/approval-page";
import type { ApprovalView, WalletPreset } from "#lib/api/schemas/approval-view";
import { showInputs } from "#lib/client/gate/shown-inputs";
import { bindRequest, confirmationCode } from "#lib/protocol/approval/approval";
import { labelNames, rankName } from "#lib/protocol/approval/detail-names";
import { contextHash } from "#lib/protocol/approval/shown-content";
import { alterations } from "#support/alterations";
import { makeView } from "#support/approval-view";
import { testRequestedBy, testShown } from "#support/human-authorization";
import { AgentBlock } from "./agent-block";
import { ApprovalScreen } from "./approval-screen";
import { explainChange } from "./change-form";
import { findDifferences } from "./check-shown";
import { CodeField } from "./code-field";
import { DecisionBar } from "./decision-bar";
import { DenyFormPlain, explainDenial, readReason } from "./deny-form";
import { describeForWallet, listDetails } from "./details";
import { GrantBlock } from "./grant-block";
import { describeMissing, GroupsNeeded } from "./groups-needed";
import { writeHeading } from "./heading";
import { explainProof } from "./how-checked";
import { Outcome } from "./outcome";
import { ActionBlock, ContextBlock } from "./request-blocks";
import { formatTimeLeft } from "./time-left";
import { listShown } from "./unseen";
import { addSpan, findGap } from "./use-seen";
import { explainProblem, explainWalletError } from "./world-id-words";

const renderToStaticMarkup = (...given: Parameters<typeof renderMarkup>) =>
  renderMarkup(...given).replaceAll(/<span class="agent-text-joined">-<\/span>/g, "-");

describe("findDifferences", () => {
  it("finds none where everything shown is what is hashed", () => {
    expect(findDifferences(makeView())).toEqual([]);
  });

  const changes: [name: string, place: string, value: unknown][] = [
    ["request hash", "request.action", "Pay invoice 1043"],
    ["request hash", "binding.request_hash", "00".repeat(32)],
    ["World ID action", "binding.world_action", `authz-${"a".repeat(26)}`],
    ["signal", "binding.signal", `0x${"00".repeat(32)}`],
    ["hash of the signal", "binding.signal_hash", `0x${"00".repeat(32)}`],
    ["hash of the details, the names and who asks", "context.amount", "900.00 EUR"],
    ["hash of the details, the names and who asks", "context.another", ""],
    ["hash of the details, the names and who asks", "context_salt", "AAAA"],
    ["hash of the details, the names and who asks", "agent.name", "Somebody else"],
    ["hash of the details, the names and who asks", "agent.name", null],
    ["hash of the details, the names and who asks", "organization.name", "Another organization"],
    ["hash of the details, the names and who asks", "group_names", ["finance"]],
    ["confirmation code", "confirmation_code", "AAA-AAA"],
    ["request id", "request_id", "areq_other"],
    ["agent", "agent.slug", "other-bot"],
    ["agent's key", "agent.public_key", "AAAA"],
    ["organization", "organization.id", "other"],
    ["proof level", "required_level", "orb"],
    ["number of approvals", "approvals.required", 2],
    ["time of expiry", "expires_at", "2026-11-21T09:30:00.000Z"],
  ];
  it.each(changes)("reports another %s: %s", (name, place, value) => {
    const view = makeView();
    const names = place.split(".");
    const last = names.pop() ?? "";
    Reflect.set(
      names.reduce((part, at) => Reflect.get(part, at), view as object),
      last,
      value,
    );
    expect(findDifferences(view)).toContain(name);
  });
});

describe("findDifferences, of who decides", () => {
  const makeRequired = () => {
    const view = makeView();
    view.request.required_approvers = [{ group: "019a0000-0000-7000-8001-000000000000", count: 2 }];
    view.request.approvals_required = 2;
    view.group_names = ["finance"];
    view.groups = [{ name: "finance", count: 2, given: 1 }];
    view.approvals = { required: 2, given: 1 };
    const names = { agent_name: "Bill", organization_name: "Example", group_names: ["finance"] };
    view.request.context_hash = contextHash("c2FsdA==", view.context, names, testRequestedBy);
    view.binding = bindRequest(view.request);
    view.confirmation_code = confirmationCode(view.binding.request_hash);
    return view;
  };

  it("finds a group that is shown by another name or with fewer people than hashed", () => {
    expect(findDifferences(makeRequired())).toEqual([]);
    for (const other of [{ name: "everyone" }, { count: 1 }]) {
      const view = makeRequired();
      view.groups = view.groups.map((group) => ({ ...group, ...other }));
      expect(findDifferences(view)).toEqual(["required groups"]);
    }
    expect(findDifferences({ ...makeRequired(), groups: [] })).toEqual(["required groups"]);
  });

  it("says who is still needed, by group, until nobody is", () => {
    const view = makeRequired();
    expect(describeMissing(view)).toBe("One more person of finance is needed.");
    view.groups = [
      { name: "finance", count: 2, given: 0 },
      { name: "legal", count: 1, given: 1 },
      { name: "board", count: 1, given: 0 },
    ];
    expect(describeMissing(view)).toBe("Two people of finance are needed. One person of board is needed.");
    view.groups = [{ name: "finance", count: 2, given: 2 }];
    expect(describeMissing(view)).toBeNull();
  });

  it("says that whoever changed the request is one of them", () => {
    const view = makeRequired();
    const change = "Whoever changed the request has to approve it too.";
    const show = () => renderToStaticMarkup(<GroupsNeeded view={view} />);
    expect(show()).not.toContain(change);
    view.request.amends = { request_hash: "00", fields: ["amount"], by: "a" };
    expect(show()).toContain(change);
  });
});

describe("findDifferences, of who asks", () => {
  it.each(alterations(testShown.requested_by))("reports %s", (_what, other) => {
    const view = makeView();
    view.requested_by = other as unknown as ApprovalView["requested_by"];
    expect(findDifferences(view)).toEqual(["hash of the details, the names and who asks"]);
  });
});

describe("the details of a request", () => {
  it.each(["amount", "Amount", "total_price", "amo\u200bunt", "fee"])("begin with %j", (name) =>
    expect(rankName(name)).toBe(0),
  );
  it.each([
    ...["recipientName", "ship-to", "IBAN", "wallet", "supplier", "customer_id", "cc", "bcc"],
    ...["user", "role", "policy_arn", "permissions"],
  ])("go on with %j", (name) => expect(rankName(name)).toBe(1));
  it.each(["note", "invoice", "reason", "token", "tomorrow", "due", "accent"])("end with %j", (name) =>
    expect(rankName(name)).toBe(2),
  );

  it("are otherwise in the agent's order, and look like what they are", () => {
    const details = listDetails({
      purpose: "Invoice 1042",
      iban: "DE00 1234",
      digest: "9f86d081884c7d659a2feaa0c55ad015",
      "sent to": "x".repeat(161),
      amount: "12.00 EUR",
      before: "z",
      send_email: "true",
    });
    expect(details.map(({ name, look }) => `${name}: ${look}`)).toEqual([
      "amount: large",
      "iban: large",
      "sent to: text",
      "send_email: text",
      "purpose: text",
      "digest: code",
      "before: text",
    ]);
  });
});

describe("words", () => {
  it("counts down in the fitting unit", () => {
    const at = [90_000, 3_600, 3_599, 61, 60, 59, 1, 0].map(formatTimeLeft);
    expect(at).toEqual([
      "25 h 00 min",
      "1 h 00 min",
      "59 min 59 s",
      "1 min 01 s",
      "1 min 00 s",
      "59 seconds",
      "1 second",
      "no time left",
    ]);
  });

  it("offers what else is enough where the wallet lacks what was asked for, and only there", () => {
    const device = { preset: "proof_of_human", fallback: "device_legacy" } as const;
    const orb = { preset: "proof_of_human", fallback: null } as const;
    const older = { preset: "device_legacy", fallback: null } as const;
    const next = (code: string, start: typeof device | typeof orb | typeof older, preset: WalletPreset) =>
      explainWalletError(code, { start, preset, isShown: true }).next;
    for (const code of ["credential_unavailable", "world_id_4_not_available", "feature_unavailable"]) {
      expect(next(code, device, "proof_of_human")).toBe("device-legacy");
      expect(next(code, device, "device_legacy")).toBe("start-again");
      expect(next(code, orb, "proof_of_human")).toBe("start-again");
    }
    expect(next("world_id_3_not_available", device, "device_legacy")).toBe("proof-of-human");
    expect(next("world_id_3_not_available", older, "device_legacy")).toBe("start-again");
    expect(next("user_rejected", device, "proof_of_human")).toBe("start-again");
    const words = (code: string, isShown = true) =>
      explainWalletError(code, { start: device, preset: "proof_of_human", isShown }).text;
    expect(words("user_rejected")).toContain("still pending");
    expect(words("never_heard_of")).toContain("never heard of");
  });

  it("blames no wallet for what failed before one was asked, and names no cause that it doesn't know", () => {
    const explain = (isShown: boolean) =>
      explainWalletError("generic_error", {
        start: { preset: "proof_of_human", fallback: null },
        preset: "proof_of_human",
        isShown,
      });
    expect(explain(false).text).toContain("no wallet was asked");
    for (const { title, text } of [explain(true), explain(false)])
      expect(`${title} ${text}`).not.toMatch(/World App|could not make the proof/);
  });

  it("keeps a proof whose answer is lost, and says that it is saved only if the service said so", () => {
    const problem = (status: number, code = "", detail = "why") => ({ status, code, detail });
    for (const status of [0, 500, 502, 503]) {
      const { next, text } = explainProblem(problem(status), true);
      expect([next, text.includes("don't know whether your proof was saved")]).toEqual(["send-again", true]);
    }
    const saved = explainProblem(problem(503, "service_unavailable", `World is away; ${proofStored}`), true);
    expect(saved).toMatchObject({ next: "none", title: "Your proof is saved and not checked yet" });
    expect(explainProblem(problem(503), false).next).toBe("start-again");
    expect(explainProblem(problem(409, "already_approved"), true).title).toBe("You've already approved this");
    expect(explainProblem(problem(422, "approval_refused"), true).text).toContain("why");
    for (const code of ["rule_forbids", "rule_demands_more"])
      expect(explainProblem(problem(409, code, "rules forbid this: never"), true)).toMatchObject({
        next: "none",
        text: expect.stringContaining("Rules forbid this: never. You can deny"),
      });
  });

  it("doesn't say what became of a denial whose answer is lost", () => {
    for (const status of [0, 500, 503]) {
      const { title, text } = explainDenial({ status, code: "", detail: "" });
      expect(`${title} ${text}`).toContain("don't know whether your denial went through");
      expect(text).not.toContain("Nothing was decided");
    }
    expect(explainDenial({ status: 422, code: "confirmation_code_wrong", detail: "wrong code" }).text).toBe(
      "Nothing was decided: wrong code.",
    );
  });

  it.each([
    ["the passkey is of another device", "the passkey is of another device."],
    ["nothing was decided: the passkey is of another device", "the passkey is of another device."],
    [
      "nothing was changed: the agent named nothing that may be changed",
      "the agent named nothing that may be changed.",
    ],
  ])("says once what didn't happen: %s", (detail, why) => {
    const problem = { status: 422, code: "passkey_refused", detail };
    expect(explainChange(problem).text).toBe(`Nothing was changed: ${why}`);
    expect(explainDenial(problem).text).toBe(`Nothing was decided: ${why}`);
    expect(explainProblem(problem, true).text).toBe(
      `Nothing was decided: ${why} The request is still pending.`,
    );
  });

  it("offers reasons that fit: a command has no recipient", () => {
    const view = makeView();
    const draw = (more: object, context: Record<string, string>) => {
      const request = { ...view.request, ...more };
      return renderToStaticMarkup(
        <DenyFormPlain view={{ ...view, request, context }} token="t" asksCode={false} />,
      );
    };
    const hook = draw({ action: "Use the tool Bash", tool: "Bash" }, { command: "git push" });
    expect(hook).toContain("Deny: The details are wrong");
    expect(draw({ amount: { value: "5", currency: "EUR" } }, {})).toContain(
      "Deny: The amount or the recipient is wrong",
    );
    expect(draw({}, { payee_iban: "DE02" })).toContain("Deny: The amount or the recipient is wrong");
  });

  it("joins the ready reason and the free text", () => {
    const form = new FormData();
    form.append("reason", "I did not expect this request");
    form.append("reason", "  Call me.  ");
    expect(readReason(form)).toBe("I did not expect this request: Call me.");
    expect(readReason(new FormData())).toBe("");
  });
});

describe("explainProof", () => {
  const both = ["groth16-local", "world-portal-v4"] as ("groth16-local" | "world-portal-v4")[];
  it("never claims that a proof which World alone checked can be checked again", () => {
    const alone = { level: "orb" as const, verified_by: [both[1] ?? "world-portal-v4"], is_anchored: false };
    expect(explainProof(alone, "production")).toBe(
      "Level Orb: checked by World. It can't be checked again independently.",
    );
  });

  it("says what vouches for the root", () => {
    const device = { level: "device" as const, verified_by: both, is_anchored: false };
    expect(explainProof(device, "production")).toContain("can't be anchored again later");
    expect(explainProof({ ...device, level: "orb" }, "production")).toContain("No block");
    expect(explainProof({ ...device, is_anchored: true }, "production")).toContain("Its root is on chain");
    expect(explainProof(device, "local")).toContain("comes from the stand-in");
  });
});

describe("a planted request", () => {
  it.each([
    ["denied", "Well caught"],
    ["corrected", "Well caught"],
    ["approved", "Not caught"],
    ["changed", "Not caught"],
    ["expired", "Expired"],
  ] as const)("says what was wrong in it once it was %s", (outcome, title) => {
    const status = outcome === "expired" ? "expired" : "cancelled";
    const view = { ...makeView(), status, planted: { outcome, mistake: "The payee was wrong." } } as const;
    const html = renderToStaticMarkup(<Outcome view={view} wasOpenedLate={false} />);
    for (const words of [title, "The payee was wrong.", "nothing can run from it"])
      expect(html).toContain(words);
    expect(html).not.toContain("The organization cancelled");
    expect(writeHeading(view, false)).toBe("This was a planted request");
  });
});

describe("blocks", () => {
  it("keep a code in one line, which a phone would break at its hyphen", () => {
    const html = renderToStaticMarkup(<CodeField id="code" />);
    expect(html).toContain('<span class="whitespace-nowrap">K7Q-F2M</span>');
  });

  it("cut nothing and run nothing", () => {
    const long = "x".repeat(1_024);
    const html = renderToStaticMarkup(
      <ContextBlock
        request={makeView().request}
        context={{ "<b>to</b>": `<img src=x onerror=alert(1)>${long}\u202e` }}
      />,
    );
    expect(html).toContain(long);
    expect(html).not.toMatch(/<img|<b>/);
    expect(html).not.toContain("\u202e");
    expect(html).toContain("⟨U+202E⟩");
  });

  it("show after an erasure no more than the organization's name", () => {
    const html = renderToStaticMarkup(<AgentBlock view={{ ...makeView(), requested_by: null }} />);
    expect(html).toContain("(self-chosen name)");
    expect(html).not.toMatch(/erified domain|Known since/);
    const whole = renderToStaticMarkup(<AgentBlock view={makeView()} />);
    for (const shown of ["Verified domain", "Known since", "Accounts payable"])
      expect(whole).toContain(shown);
  });

  it("draw all parts of a long command alike", () => {
    const request = { ...makeView().request, action: "Tidy up", tool: "Bash" };
    const context = { "command (01/2)": "echo a ".repeat(140), "command (02/2)": "echo b", note: "c" };
    const html = renderToStaticMarkup(<ContextBlock request={request} context={context} />);
    expect(html.split("font-mono")).toHaveLength(3);
  });

  it("show how much before anything else that is wanted, and the tool that would run", () => {
    const request = {
      ...makeView().request,
      amount: { value: "12000.5", currency: "EUR" },
      tool: "bank.pay",
    };
    const html = renderToStaticMarkup(<ActionBlock request={request} context={{}} />);
    expect(html.indexOf("12,000.50 EUR")).toBeGreaterThan(0);
    expect(html.indexOf("12,000.50 EUR")).toBeLessThan(html.indexOf(request.action));
    expect(html).toContain("bank.pay");
  });

  it.each<[string, string | null]>([
    [
      '[{"description": "Consulting", "unit_price": 180.50}, {"description": "Travel\\u202e", "tax": {"rate": "20%"}}]',
      "Description Consulting Unit price 180.5 Description Travel ⟨U+202E⟩ Tax Rate 20%",
    ],
    ['{"a":[1,null,"",true],"b":{}}', "A 1 null (empty) true B {}"],
    // Another reader may see another document.
    ['{"amount":1,"amount":2}', null],
    ['{"amount":12345678901234567890}', null],
    ["[[[[1]]]]", null],
    ["[x] done", null],
    ["[]", null],
  ])("show %j as lists, or as it is", (text, words) => {
    const html = renderToStaticMarkup(
      <ContextBlock request={makeView().request} context={{ lines: text, a: "1" }} />,
    );
    const read = html.replaceAll(/(?:<[^>]*>|\s)+/g, " ").replaceAll("&quot;", '"');
    expect(read).toContain(` Lines ${words ?? text} A `);
  });

  it.each<[Record<string, string>, string, string[]]>([
    [{ database: "prod", sql: "DROP TABLE a" }, "DROP TABLE a", ["prod"]],
    [{ file_path: "/srv/a.ts", old_string: "debit(1)", new_string: "debit(2)" }, "debit(2)", []],
    [{ command: `${"true\n".repeat(7)}rm -rf /` }, "true … Cut.", ["rm -rf /"]],
  ])("say with an action in the agent's own words what %j runs", (context, first, below) => {
    const request = { ...makeView().request, action: "Tidy up", tool: "db" };
    const read = (html: string) =>
      html.replaceAll(/<\/?(?:b|del|ins)>/g, "").replaceAll(/(?:<[^>]*>|\s)+/g, " ");
    const block = renderToStaticMarkup(<ActionBlock request={request} context={context} />);
    const places = [">Tidy up<", "font-mono", ">db<"].map((one) => block.indexOf(one));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(block.indexOf("text-xl"));
    expect(read(block)).toContain(first);
    const drawn = renderToStaticMarkup(<ContextBlock request={request} context={context} />);
    for (const one of below) expect(read(drawn)).toContain(one);
  });

  it.each<[string, Record<string, string>, string[], string[]]>([
    ["Bash", { description: "Push it", command: "git push --force" }, ["git push --force"], ["Push it"]],
    ["run_command", { CommandLine: "npm test" }, ["npm test"], []],
    ["WebFetch", { url: "https://example.com/a", prompt: "Sum up" }, ["https://example.com/a", "Sum up"], []],
    ["db", { command: "ls", sql: "DROP TABLE a", cwd: "/My files" }, ["ls", "DROP TABLE a"], ["/My files"]],
    [
      "Edit",
      { file_path: "/srv/a.ts", new_string: "debit(2)", old_string: "debit(1)" },
      ["/srv/a.ts", "debit(1)", "debit(2)"],
      [],
    ],
    [
      "Bash",
      { command: `echo ${"word ".repeat(60)}; rm -rf /` },
      ["echo word word", "word … Cut. All of it is under Details."],
      ["; rm -rf /"],
    ],
    ["Bash", { command: `${"true\n".repeat(7)}rm -rf /` }, ["true … Cut."], ["rm -rf /"]],
    [
      "Bash",
      { command: `set -e\n\ncd /srv\nrm -rf data\n${"make again\n".repeat(9)}` },
      ["cd /srv rm -rf data make again", "again … Cut."],
      [],
    ],
    [
      "Bash",
      { "command (01/2)": "#".repeat(1_024), "command (02/2)": "\nrm -rf /" },
      ["rm -rf / … Cut."],
      [],
    ],
    ["exec", { command: "ls", cmd: "rm -rf /" }, ["ls", "rm -rf /"], []],
  ])("say first and large what the tool %s would run with %j", (tool, context, first, below) => {
    const view = makeView();
    const request = { ...view.request, action: `Use the tool ${tool}`, tool };
    const read = (html: string) =>
      html
        .replaceAll(/<\/?(?:b|del|ins)>/g, "")
        .replaceAll(/<[^>]*>/g, " ")
        .replaceAll(/\s+/g, " ");
    const block = renderToStaticMarkup(<ActionBlock request={request} context={context} />);
    const places = [...first, request.action].map((one) => read(block).indexOf(one));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
    const [, large = "", ...others] = block.split("text-xl");
    expect(read(large)).toContain(first[0]);
    expect(others, "nothing else is large").toEqual([]);
    const drawn = renderToStaticMarkup(<ContextBlock request={request} context={context} />);
    // A command reads as one below, too.
    expect(drawn.includes("font-mono")).toBe(read(block).includes("Cut."));
    const details = read(drawn);
    for (const one of below) expect(details).toContain(one);
    // The whole of what is cut has to be seen, and each other part once.
    const parts = listShown({ request, context }).map(({ id }) => id);
    for (const name of Object.keys(context))
      expect(parts.filter((id) => id === `context ${name}`)).toHaveLength(1);
  });

  const drawEdit = (context: Record<string, string>, action = "Use the tool Edit") => {
    const request = { ...makeView().request, action, tool: "Edit" };
    return [ActionBlock, ContextBlock].map((Block) =>
      renderToStaticMarkup(<Block request={request} context={context} />),
    );
  };

  it("mark what an edit takes out of a file and puts in", () => {
    const [html = ""] = drawEdit({
      file_path: "/srv/a.ts",
      old_string: "limits = {\n  daily: 100,\n}",
      new_string: "limits = {\n  daily: 100_000,\n}",
    });
    expect(html).toContain("limits = {\n<del>  daily: <b>100</b>,</del>\n}");
    expect(html).toContain("limits = {\n<ins>  daily: <b>100_000</b>,</ins>\n}");
    const [deletion = ""] = drawEdit({ file_path: "a", old_string: "audit()", new_string: "" });
    expect(deletion).toContain("<del>audit()</del>");
    const [hidden = ""] = drawEdit({ file_path: "a", old_string: "a", new_string: "a\u202eb" });
    expect(hidden).toMatch(/<ins><b>a<\/b><b><span class="agent-text-chip"[^>]*>⟨U\+202E⟩<\/span>/);
    // The line that follows in the file would be part of the comment.
    const [joined = ""] = drawEdit({ file_path: "a", old_string: "# a\n", new_string: "# a" });
    expect(joined).toMatch(/# a<del><b><span class="agent-text-chip"[^>]*>⟨U\+000A⟩<\/span>\n<\/b><\/del>/);
    const [indented = ""] = drawEdit({
      file_path: "a",
      old_string: "  a(1)\n  b",
      new_string: "  a(2)\n  b",
    });
    expect(indented).toContain("<ins>  a(<b>2</b>)</ins>\n  b");
    const [moved = ""] = drawEdit({ file_path: "a", old_string: "a", new_string: "  a" });
    expect(moved).toMatch(/<ins><b><span class="agent-text-chip"[^>]*>⟨U\+0020⟩ × 2<\/span>/);
    const [blank = ""] = drawEdit({ file_path: "a", old_string: "a", new_string: "\na" });
    expect(blank).toContain("<ins>\n</ins>a");
    const [part = ""] = drawEdit({ file_path: "a", "old_string (01/2)": "a", new_string: "b" });
    expect(part).not.toContain("<ins>");
    // A tool reads one of them.
    for (const decoy of [{ Old_string: "a" }, { before: "a", after: "b" }]) {
      const [several = ""] = drawEdit({ file_path: "a", ...decoy, old_string: "a", new_string: "b" });
      expect(several).not.toContain("<ins>");
      expect(several).toContain("What changes isn&#x27;t marked here.");
    }
    expect(html).not.toContain("marked here");
  });

  it("mark each edit of a list, and none of a list that a tool may read in another way", () => {
    const draw = (edits: unknown) =>
      drawEdit({ file_path: "a", edits: typeof edits === "string" ? edits : JSON.stringify(edits) });
    const edit = { old_string: "pay(1)", new_string: "pay(2)" };
    const [html = "", details = ""] = draw([
      { ...edit, replace_all: true },
      { oldText: "a\nb", newText: "a" },
    ]);
    for (const text of ["pay(<b>1</b>)</del>", "pay(<b>2</b>)</ins>", "a\n<del>b</del>"])
      expect(html).toContain(text);
    for (const label of ["1 of 2: Old string", "1 of 2: New string, replace_all true", "2 of 2: New text"])
      expect(html).toContain(label);
    expect(html).not.toMatch(/marked here|Cut|under Details/);
    expect(details, "each text once").toBe("");
    const [worded = ""] = drawEdit({ file_path: "a", edits: JSON.stringify([edit]) }, "Set the price");
    expect(worded).toContain("pay(<b>2</b>)</ins>");
    const [spaces = ""] = draw([{ old_string: "   \nb", new_string: "   " }]);
    expect(spaces.match(/⟨U\+0020⟩ × 3/g)).toHaveLength(2);
    const [several = "", all = ""] = draw(Array.from({ length: 5 }, () => edit));
    expect(all.match(/pay\(2\)/g)).toHaveLength(5);
    expect(several.match(/<ins>/g)).toHaveLength(3);
    expect(several.match(/And 2 more edits\. All of it is under Details\./g)).toHaveLength(1);
    const [long = "", whole = ""] = draw([{ ...edit, new_string: `pay(2)\n${"x\n".repeat(20)}` }]);
    expect(whole).toContain("x\nx");
    expect(long.match(/Cut, with \d+ more changed lines\. All of it/g)).toHaveLength(1);
    const context = { file_path: "a", edits: JSON.stringify([edit]) };
    const request = { ...makeView().request, action: "Use the tool Edit", tool: "Edit" };
    const parts = listShown({ request, context }).map(({ id }) => id);
    expect(
      parts.filter((id) => id.startsWith("context edits")),
      "each has to be seen",
    ).toEqual(["context edits 0 removed", "context edits 0 added"]);
    const odd = [
      [{ ...edit, before: "pay(3)" }],
      [edit, { ...edit, content: "audit()" }],
      [edit, { ...edit, range: { start: 1 } }],
      [edit, "pay(3)"],
      [],
      '[{"old_string":"a","old_string":"b","new_string":"c"}]',
      "[",
    ];
    for (const list of odd) {
      const [unmarked = ""] = draw(list);
      expect(unmarked).not.toContain("<ins>");
      expect(unmarked).toContain("What changes isn&#x27;t marked here.");
    }
  });

  it("cut a long edit to where it begins to differ, and mark all of it below", () => {
    const lines = (last: string) => [..."abcdefghij", last, ..."klmnopqr"].join("\n");
    const [html = "", details = ""] = drawEdit({
      file_path: "a",
      old_string: lines("pay(1)"),
      new_string: lines("pay(2)"),
    });
    expect(html).toContain("…\nj\n<ins>pay(<b>2</b>)</ins>\nk\nl\nm\nn …");
    expect(html).not.toContain("d\ne");
    expect(details).toContain("i\nj\n<ins>pay(<b>2</b>)</ins>\nk");
    expect(html).toContain("Cut. All of it");
    const [several = ""] = drawEdit({
      file_path: "a",
      old_string: `${lines("pay(1)")}\nx\ny`,
      new_string: `${lines("pay(2)")}\nX\nY`,
    });
    expect(several.match(/Cut, with 2 more changed lines\. All of it/g)).toHaveLength(2);
    const write = (a: number, b: number) => `pay(${a}) ${"x".repeat(400)} pay(${b})`;
    const [long = ""] = drawEdit({ file_path: "a", old_string: write(1, 1), new_string: write(2, 2) });
    expect(long.match(/Cut, with 1 more changed line\. All of it/g)).toHaveLength(2);
    const [first = ""] = drawEdit({ file_path: "a", old_string: write(1, 1), new_string: write(2, 1) });
    expect(first.match(/Cut\. All of it/g)).toHaveLength(2);
  });

  it("mark an edit in several details, and show the part in which it begins to differ", () => {
    const lines = Array.from({ length: 60 }, (_, i) => `line ${i} of the file`).join("\n");
    const [before, after] = [`${lines}\npay(1)\nend\nx`, `${lines}\npay(2)\nend\ny`];
    const [block = "", details = ""] = drawEdit(
      showInputs({ file_path: "a", old_string: before, new_string: after }, {}).context,
    );
    expect(block).toMatch(/new_string \(02\/2\).*<ins>pay\(<b>2<\/b>\)<\/ins>/s);
    expect(block.match(/Cut\. All of it/g)).toHaveLength(2);
    expect(details.match(/font-mono/g), "all of it is code").toHaveLength(4);
    expect(details.match(/<ins>/g)).toHaveLength(2);
    expect(details.match(/<del>/g)).toHaveLength(2);
  });

  it.each([
    ["a long line before it", (amount: number) => `${"x".repeat(400)}\npay(${amount})`],
    ["a long beginning of its own line", (amount: number) => `${"👩".repeat(400)} pay(${amount})`],
    ["a tab in each line before it", (amount: number) => `${"\ta\n".repeat(40)}\tpay(${amount})`],
  ])("show and mark a change in a long edit after %s", (_, write) => {
    const drawn = drawEdit({ file_path: "a", old_string: write(1), new_string: write(2) });
    for (const html of drawn) expect(html).toMatch(/<ins>.*pay\(<b>2<\/b>\)<\/ins>/);
    expect(drawn.join(""), "no half of a character").not.toMatch(/U\+D[89A-F]/);
  });

  it("are named to the wallet by what runs, not by the tool alone", () => {
    const { request } = makeView();
    const hook = { ...request, action: "Use the tool Bash", tool: "Bash" };
    const command = "set -e\nrm -rf \u202edata";
    expect(describeForWallet({ request: hook, context: { command } })).toBe(
      `${request.agent_slug}: set -e · rm -rf ⟨U+202E⟩data`,
    );
    expect(describeForWallet({ request, context: { command } })).toContain(request.action);
  });

  it("come in the order of their weight: amount, recipient, action, details, who asks, and last the hash", () => {
    const view = makeView();
    const request = {
      ...view.request,
      amount: { value: "12000.5", currency: "EUR" },
      inputs_hash: "sha256:last",
    };
    const context = { invoice_number: "RE-1042", recipient_iban: "DE00 1234" };
    const html = renderToStaticMarkup(
      <AppRouterContext.Provider value={{ refresh: () => {} } as never}>
        <ApprovalScreen view={{ ...view, request, context }} token="t" />
      </AppRouterContext.Provider>,
    );
    const text = html.replaceAll(/<[^>]*>/g, " ");
    const inOrder = [
      "12,000.50 EUR",
      "Recipient IBAN",
      request.action,
      "Invoice number",
      "Requested by",
      "Conditions",
    ];
    const places = [...inOrder, "sha256:last"].map((one, i) =>
      text.indexOf(one, i < 4 ? 0 : text.indexOf("RE-1042")),
    );
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
  });

  it("begin with the action if there is no amount: where it happens is read after what happens", () => {
    const { amount: _, ...request } = { ...makeView().request, action: "Delete the database" };
    const html = renderToStaticMarkup(
      <ActionBlock request={request} context={{ host: "db-1.example.com" }} />,
    );
    expect(html.indexOf("Delete the database")).toBeGreaterThan(0);
    expect(html.indexOf("Delete the database")).toBeLessThan(html.indexOf("db-1.example.com"));
    expect(html.match(/Delete the database/g)).toHaveLength(1);
  });

  it("name details as people would, and names that would look the same as they are", () => {
    const label = labelNames(["invoice_number", "vatId", "sent-to", "IBAN", "a_b", "aB", "<b>", "étage"]);
    const labels = ["invoice_number", "vatId", "sent-to", "IBAN", "a_b", "aB", "<b>", "étage"].map(label);
    expect(labels).toEqual(["Invoice number", "VAT ID", "Sent to", "IBAN", "a_b", "aB", "<b>", "étage"]);
  });

  it("say that an unproven or missing key is no identity", () => {
    for (const key_status of ["none", "unproven", "retired"] as const) {
      const view = makeView();
      view.agent.key_status = key_status;
      expect(renderToStaticMarkup(<AgentBlock view={view} />)).toContain("Identity not verified");
    }
  });

  it("say that an approval was taken back, offer it until it is used, and that an agent is frozen", () => {
    const draw = (more: Partial<ApprovalView>) =>
      renderToStaticMarkup(
        <AppRouterContext.Provider value={{ refresh: () => {} } as never}>
          <ApprovalScreen view={{ ...makeView(), ...more }} token="t" />
        </AppRouterContext.Provider>,
      );
    const approved = { status: "approved" as const };
    const attestation = { id: "a", public_url: "http://localhost/verify/a/b", is_public: true };
    expect(draw(approved)).toMatch(/action="\/approve\/t\/revoke"/);
    expect(draw({ ...approved, code_tries_left: 5 })).toContain("take-back-code");
    expect(draw({ ...approved, attestation })).not.toContain("/revoke");
    expect(draw({})).not.toContain("/revoke");
    const groups = [{ name: "finance", count: 1, given: 1 }];
    const byGroup = { ...approved, groups, decided_by: { kind: "people" as const } };
    expect(draw(byGroup)).toContain("Whoever approved it does so, with the same passkey.");
    const byRule = { kind: "rule" as const, ruleset_hash: "", policy_ids: ["small"], context_hash: "" };
    expect(draw({ ...byGroup, decided_by: byRule }), "nobody approved there").not.toContain("/revoke");
    const back = draw({ ...approved, revoked_at: "2026-11-24T12:00:00.000Z" });
    expect(back).toContain("This approval was taken back");
    expect(back).not.toContain("/revoke");
    expect(back).not.toContain("may then perform");
    expect(draw({ is_frozen: true })).toContain("has frozen this agent");
    expect(draw({ ...approved, is_frozen: true, attestation })).not.toContain("has frozen this agent");
  });

  it("show a denial's free text as text, and TEST on every approval that is not World's own", () => {
    const denied = { ...makeView(), status: "denied" as const, denial_reason: "<script>x</script>" };
    expect(renderToStaticMarkup(<Outcome view={denied} wasOpenedLate />)).not.toContain("<script>");
    const approved = { ...makeView(), status: "approved" as const };
    const html = renderToStaticMarkup(<Outcome view={approved} wasOpenedLate={false} />);
    expect(html).toContain("TEST approval");
    expect(html).toContain("Approved (TEST)");
    const real = { ...approved, is_test: false, environment: "production" as const };
    expect(renderToStaticMarkup(<Outcome view={real} wasOpenedLate={false} />)).not.toContain("TEST");
  });

  it("says who approved, and by what: a passkey is no World ID", () => {
    const group = { name: "finance", count: 2, given: 2 };
    const render = (change: Partial<ApprovalView>) =>
      renderToStaticMarkup(
        <Outcome view={{ ...makeView(), status: "approved", ...change }} wasOpenedLate={false} />,
      );
    const both = { groups: [group], approvals: { required: 2, given: 2 } };
    const alone = render({ ...both, required_level: "none" });
    expect(alone).toContain("2 members of finance, by passkey, approved it");
    expect(alone).not.toMatch(/World IDs? of|The stand-in approved/);
    expect(render({ ...both, required_level: "orb" })).toContain(
      "2 members of finance, by passkey and World ID, approved it",
    );
    expect(render({ is_test: false, environment: "production" })).toContain("A World ID approved it");
  });
});

describe("what is over", () => {
  const render = (change: Partial<ApprovalView>) =>
    renderToStaticMarkup(
      <Outcome
        view={{ ...makeView(), status: "approved", decided_at: "2026-11-21T08:02:00.000Z", ...change }}
        wasOpenedLate
      />,
    );
  const at = "2026-11-21T09:00:00.000Z";
  const before = "2026-11-21T08:59:59.999Z";
  const after = "2026-11-21T09:00:00.001Z";
  const receipt = { id: "a", public_url: "http://localhost/verify/a/b", is_public: true };
  const rule = { kind: "rule" as const, ruleset_hash: "a", policy_ids: ["small"], context_hash: "b" };
  const grant = { actions: ["x"], max_calls: 1, expires_at: at };
  const standing = { request: { ...makeView().request, grant } };

  it.each<[string, Partial<ApprovalView>, string]>([
    ["an approval whose time has come", { usable_until: at }, "may then perform"],
    ["what a rule allowed for a while", { usable_until: at, decided_by: rule }, "may perform"],
    ["a standing approval", standing, "from now on"],
  ])("is %s", (_what, change, words) => {
    // At its end an approval can still be used, but a standing one can't.
    const isStanding = change === standing;
    expect(render({ ...change, now: isStanding ? before : at })).toContain(words);
    const over = render({ ...change, now: isStanding ? at : after });
    expect(over).toContain("Nothing can use it any more: it ended at");
    expect(over).not.toMatch(new RegExp(`${words}|appears here`));
  });

  it("is what was done, with its receipt, whoever allowed it", () => {
    for (const decided_by of [rule, { kind: "people" as const }]) {
      const done = render({ decided_by, attestation: receipt, usable_until: at, now: at });
      expect(done).toContain('href="/verify/a/b"');
      expect(done).not.toMatch(/perform the action|Nothing can use it/);
    }
  });
});

describe("the heading", () => {
  const between = (given: number, required: number, isOwn = false) =>
    writeHeading({ ...makeView(), approvals: { given, required } }, isOwn);

  it("says after a first approval that somebody else is needed, and to whom it says so", () => {
    expect(between(0, 2)).toBe("An agent is requesting your approval");
    expect(between(1, 2, true)).toBe("You approved. One more person is needed.");
    expect(between(1, 2)).toBe("One person approved. One more person is needed.");
    expect(between(1, 3, true)).toBe("You approved. 2 more people are needed.");
    expect(between(2, 3)).toBe("2 people approved. One more person is needed.");
  });

  it("is the state once it is decided", () => {
    const denied = { ...makeView(), status: "denied", approvals: { given: 1, required: 2 } } as const;
    expect(writeHeading(denied, true)).toBe("This request was denied");
  });
});

describe("a standing approval's page", () => {
  const grant = {
    tools: ["pay", "pаy"], // the second with a Cyrillic а
    actions: ["Pay invoice *"],
    max_calls: 20,
    max_amount: "50",
    max_budget: "500",
    currency: "EUR",
    expires_at: "2026-12-01T00:00:00.000Z",
    context: { payee: "Example Ltd" },
  };
  const html = renderToStaticMarkup(<GrantBlock terms={grant} phase="asked" />);
  const text = html.replaceAll(/<[^>]*>/g, "");

  it("shows every limit, and shows a look-alike for what it is", () => {
    for (const limit of ["Up to 500.00 EUR in all, 20 uses", "At most 50.00 EUR each", "Payee = Example Ltd"])
      expect(text).toContain(limit);
    expect(text).toContain("actions like Pay invoice *, where * can be anything");
    expect(html).toMatch(/Cyrillic|mixes|U\+0430/);
    expect(text).toContain("more than 50.00 EUR at once, another currency, or no amount");
  });

  it("says the limits in the bar of its decision too", () => {
    const view = { ...makeView(), request: { ...makeView().request, grant } };
    const bar = renderToStaticMarkup(
      <DecisionBar view={view} isReady isHidden={false} onChoose={() => {}} />,
    );
    expect(bar.replaceAll(/<[^>]*>/g, "")).toContain("Up to 500.00 EUR in all, 20 uses");
  });

  it("says that a covered request meets all of its terms, and one of its actions", () => {
    expect(text).toContain("Covered, if all of this holds");
    const terms = { actions: ["Pay rent", "Pay invoice *"], max_calls: 1, expires_at: grant.expires_at };
    const two = renderToStaticMarkup(<GrantBlock terms={terms} phase="over" />).replaceAll(/<[^>]*>/g, "");
    expect(two).toContain("the action Pay rent, or actions like Pay invoice *, where * can be anything");
    const { actions: _actions, context: _context, ...tools } = grant;
    expect(renderToStaticMarkup(<GrantBlock terms={tools} phase="over" />)).toContain(">Covered<");
  });

  it("names no agent as the one who asked, where the portal suggested it", () => {
    const agents = ["The agent sent no details", "The agent shows the same code", "no agent did"];
    const derived = { derivation: "ab".repeat(32), details: [], hours: { from: 8, to: 9 } };
    const find = (terms: typeof grant & { derived?: typeof derived }) => {
      const view = makeView();
      const request = { ...view.request, grant: terms };
      const drawn = renderToStaticMarkup(
        <AppRouterContext value={{ refresh: () => {} } as never}>
          <ApprovalScreen view={{ ...view, request, context: {} }} token="t" />
        </AppRouterContext>,
      );
      return agents.filter((words) => drawn.includes(words));
    };
    expect(find(grant)).toEqual(agents.slice(0, 2));
    expect(find({ ...grant, derived })).toEqual(agents.slice(2));
  });

  it("has to be seen before it is approved", () => {
    const view = makeView();
    expect(listShown(view).map(({ id }) => id)).not.toContain("grant");
    expect(listShown({ ...view, request: { ...view.request, grant } }).map(({ id }) => id)).toContain(
      "grant",
    );
    expect(html).toContain('data-part="grant"');
  });
});

describe("what was in view of a part", () => {
  it.each<[string, [number, number][], number | null]>([
    ["nothing", [], 0],
    ["all, at once", [[0, 500]], null],
    [
      "all, in two looks that meet",
      [
        [250, 500],
        [0, 250],
      ],
      null,
    ],
    [
      "all, with a look between two",
      [
        [0, 200],
        [300, 500],
        [150, 320],
      ],
      null,
    ],
    [
      "beginning and end",
      [
        [0, 200],
        [300, 500],
      ],
      200,
    ],
    ["the end", [[300, 500]], 0],
    ["the beginning", [[0, 499 - 1.5]], 497.5],
    [
      "all but what rounding took",
      [
        [0.6, 240],
        [240.7, 499.4],
      ],
      null,
    ],
  ])("%s", (_name, looks, gap) => {
    const spans = looks.reduce<ReturnType<typeof addSpan>>((seen, look) => addSpan(seen, look), []);
    expect(findGap(spans, 500)).toBe(gap);
  });

  it("is asked of everything that is signed", () => {
    const view = makeView();
    const request = { ...view.request, inputs_hash: `sha256:${"ab".repeat(32)}` };
    const html = renderToStaticMarkup(
      <AppRouterContext value={{ refresh: () => {} } as never}>
        <ApprovalScreen view={{ ...view, request }} token="t" />
      </AppRouterContext>,
    );
    const marked = [...html.matchAll(/data-part="([^"]+)"/g)].map(([, id]) => id);
    expect(marked).toEqual(listShown({ ...view, request }).map(({ id }) => id));
    expect(marked).toEqual(expect.arrayContaining(["action", "inputs", "agent", "conditions"]));
  });
});
