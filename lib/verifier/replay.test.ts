/** Guarantee: the guide's rules decide as its table says, and what they decided is replayed offline, or the altered part is named. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuthorizationState } from "#lib/contract/authorize";
import { startTestApp, type TestApp } from "#support/app";
import { ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { nodeIo } from "./node-io";
import { runCommand } from "./run-command";

const cedar = path.resolve("node_modules/@cedar-policy/cedar-wasm");
const guide = path.resolve("components/guides/content/rules.md");

// biome-ignore lint/suspicious/noExplicitAny: files are altered freely
type Json = any;

describe("replay", () => {
  let test: TestApp;
  let key: string;
  let folder: string;
  let rules: Json;
  beforeAll(async () => {
    test = await startTestApp(anyKind);
    ({ key } = await test.createKey());
    folder = await mkdtemp(path.join(tmpdir(), "countersign-replay-"));
    const [, text = ""] = /```cedar\n([\s\S]*?)```/.exec(await readFile(guide, "utf8")) ?? [];
    const put = await test.call("PUT", "/v1/rules", { key, body: { text, mode: "enforce" } });
    if (put.status !== 200) throw new Error(JSON.stringify(put.body));
    rules = put.body;
  });
  afterAll(async () => {
    await test.close();
    await rm(folder, { recursive: true });
  });

  const call = (tool: string, context: Record<string, string> = {}) =>
    ask(test, key, { agent_slug: "my-coder", action: `Use the tool ${tool}`, tool, context });
  const decide = async (tool: string, context: Record<string, string> = {}): Promise<AuthorizationState> =>
    (await (await call(tool, context)).read(key)).body;

  async function replay(decision: Json, version: Json = rules, more: string[] = ["--cedar", cedar]) {
    const files = { decision: path.join(folder, "decision.json"), rules: path.join(folder, "rules.json") };
    await writeFile(files.decision, JSON.stringify(decision));
    await writeFile(files.rules, JSON.stringify(version));
    let out = "";
    const print = (text: string) => {
      out += text;
    };
    const args = ["replay", files.decision, "--rules", files.rules, ...more];
    return { code: await runCommand(args, { ...nodeIo, print, tell: print }), out };
  }

  it.each([
    ["Read", {}, "approved", "reading"],
    ["Bash", { command: "npm test" }, "approved", "checks"],
    ["Bash", { command: "npm test; rm -rf /" }, "pending", null],
    ["Bash", { command: "rm -rf /" }, "pending", null],
    ["Bash", {}, "pending", null],
    ["WebFetch", {}, "denied", "no-web"],
    ["read", {}, "pending", null],
  ] as [string, Record<string, string>, string, string | null][])(
    "%s %o is %s, as the guide says, and again offline",
    async (tool, context, status, policy) => {
      const state = await decide(tool, context);
      expect(state.status).toBe(status);
      expect(state.decided_by).toEqual(
        policy === null ? null : expect.objectContaining({ kind: "rule", policy_ids: [policy] }),
      );
      const { code, out } = await replay(state);
      expect([code, out]).toEqual([0, expect.stringContaining("The same comes out.")]);
    },
  );

  it("names what was altered", async () => {
    const state: Json = await decide("Bash", { command: "npm test" });
    const alterations: [string, (copy: Json) => void][] = [
      ["ruleset", (copy) => (copy.rules.ruleset_hash = "0".repeat(64))],
      ["context", (copy) => (copy.rules.context.context.command = "git status")],
      ["context", (copy) => (copy.rules.context.salt = "BAAAAAAAAAAAAAAAAAAAAA==")],
      ["request", (copy) => (copy.tool = "Write")],
      ["request", (copy) => (copy.action = "Use the tool Write")],
      ["request", (copy) => (copy.created_at = "2020-01-01T00:00:00.000Z")],
      ["evaluation", (copy) => (copy.rules.policy_ids = ["reading"])],
      ["evaluation", (copy) => (copy.rules.decision = "deny")],
      ["object", (copy) => (copy.human_authorization.decided_by.policy_ids = ["reading"])],
      ["object", (copy) => (copy.decided_by.context_hash = "0".repeat(64))],
    ];
    for (const [name, alter] of alterations) {
      const copy = structuredClone(state);
      alter(copy);
      const { code, out } = await replay(copy);
      expect([name, code, out]).toEqual([name, 1, expect.stringContaining(`FAIL ${name}:`)]);
    }
    const other = structuredClone(rules);
    other.rules.text = other.rules.text.replace("npm test", "npm run");
    expect((await replay(state, other)).out).toMatch(/FAIL ruleset:[\s\S]*FAIL evaluation:/);
  });

  it("says what it needs", async () => {
    const state: Json = await decide("Read");
    expect((await replay(state, rules, [])).code).toBe(2);
    expect(await replay(state, rules, ["--cedar", folder])).toMatchObject({
      code: 2,
      out: expect.stringContaining("cedar-wasm"),
    });
    expect((await replay({ ...state, rules: null })).out).toContain("no rules");
    expect((await replay({ ...state, rules: { ...state.rules, context: null } })).out).toContain("erased");
  });
});
