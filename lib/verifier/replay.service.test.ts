/** Guarantee: the guide's rules decide as its table says, and what they decided is replayed offline, or the altered part is named. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import { encodePackJson } from "#lib/protocol/pack/pack-manifest";
import { makeEvidencePack, type PackRequest } from "#lib/services/packs/pack";
import { ask } from "#support/authorizations";
import { collect, forge, type PackedFiles, parse, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { runHere } from "#support/verifier-run";

const cedar = path.resolve("node_modules/@cedar-policy/cedar-wasm");
const guide = path.resolve("components/guides/content/rules.md");

// biome-ignore lint/suspicious/noExplicitAny: files are altered freely
type Json = any;

describe("replay", () => {
  const { test, key } = setupTestApp();
  let folder: string;
  let rules: Json;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "countersign-replay-"));
    const [, text = ""] = /```cedar\n([\s\S]*?)```/.exec(await readFile(guide, "utf8")) ?? [];
    const put = await test.call("PUT", "/v1/rules", { key, body: { text, mode: "enforce" } });
    if (put.status !== 200) throw new Error(JSON.stringify(put.body));
    rules = put.body;
  });
  afterAll(async () => {
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
    return runHere(["replay", files.decision, "--rules", files.rules, ...more]);
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
    expect(await replay({ ...state, created_at: "30 Nov 2026" })).toMatchObject({
      code: 2,
      out: expect.stringContaining("created_at: expected a time"),
    });
  });

  describe("of a whole evidence pack", () => {
    const slug = "packed-coder";
    const request = (tool: string, context: Record<string, string> = {}) =>
      ask(test, key, { agent_slug: slug, action: `Use the tool ${tool}`, tool, context });
    let files: PackedFiles;
    const make = async (changes: Partial<PackRequest> = {}): Promise<PackedFiles> => {
      const person = await signInPerson(test.app.context, "dev@example.com");
      const now = Date.now();
      const period = { from: new Date(now - 86_400_000).toISOString(), to: new Date(now).toISOString() };
      const asked = { agentSlugs: [slug], period, withPrivate: true, ...changes };
      return unpack(await collect((await makeEvidencePack(test.app.context, person, asked)).parts));
    };
    beforeAll(async () => {
      await request("Read");
      await request("WebFetch");
      await (await request("Bash", { command: "rm -rf /" })).deny("no");
      files = await make();
    });

    async function check(changed: PackedFiles, ...more: string[]) {
      const file = path.join(folder, "pack.zip");
      await writeFile(file, await forge(changed, true));
      const { code, out } = await runHere(["pack", file, ...more]);
      return { code, rules: /(\S+) +rules +(.*)/.exec(out)?.slice(1, 3) };
    }
    const edit = (name: string, change: (json: Json) => void): PackedFiles => {
      const json = parse(files, name);
      change(json);
      return new Map(files).set(name, encodePackJson(json));
    };
    const decision = "decisions/000000000001.json";

    it("holds rules and contexts, and all its decisions come out the same with the reader's Cedar", async () => {
      expect([...files.keys()]).toContain("rules/000000000001.json");
      expect((await check(files)).rules).toEqual([
        "pass",
        "the rules and contexts are those of 3 decisions; --cedar evaluates them again",
      ]);
      const replayed = await check(files, "--cedar", cedar);
      expect(replayed.rules).toEqual(["pass", "3 decisions evaluated again, and the same came out"]);
      expect(replayed.code).not.toBe(1);
      expect((await check(files, "--cedar", folder)).code).toBe(2);
    });

    it("names the decision, and what of it is not what was signed or evaluated", async () => {
      const altered: [PackedFiles, RegExp][] = [
        [edit("rules/000000000001.json", (json) => (json.text += " ")), /000001.json: ruleset/],
        [edit(decision, (json) => (json.rules.context.tool = "Bash")), /000001.json: context/],
        [edit(decision, (json) => (json.rules.policy_ids = ["other"])), /000001.json: object/],
        [edit(decision, (json) => (json.decided_by = { kind: "people" })), /000001.json: object/],
      ];
      for (const [changed, words] of altered) {
        const { code, rules } = await check(changed);
        expect([code, rules]).toEqual([1, ["FAIL", expect.stringMatching(words)]]);
      }
      const denied = edit("decisions/000000000002.json", (json) => {
        json.rules.reason = "no policy";
      });
      expect((await check(denied)).rules?.[0], "nothing signed names it").toBe("pass");
      for (const decided_by of [{ kind: "people" }, null]) {
        const blamed = edit("decisions/000000000002.json", (json) => (json.decided_by = decided_by));
        expect((await check(blamed)).rules).toEqual([
          "FAIL",
          expect.stringContaining("names another decider"),
        ]);
      }
      const bare = edit("decisions/000000000002.json", (json) => {
        delete json.rules;
      });
      expect((await check(bare)).code, "who denied, without the rules that did").toBe(1);
      const { code, rules } = await check(denied, "--cedar", cedar);
      expect([code, rules?.[1]]).toEqual([1, expect.stringMatching(/000002.json: evaluation/)]);
    });

    it("is incomplete without the rules, and takes none that decided nothing", async () => {
      const without = new Map(files);
      without.delete("rules/000000000001.json");
      expect(await check(without)).toMatchObject({
        code: 3,
        rules: ["n/a", expect.stringContaining("3 decisions")],
      });
      const unnamed = edit(decision, (json) => {
        delete json.rules;
        delete json.decided_by;
      });
      expect(await check(unnamed), "the signed object names rules").toMatchObject({
        code: 3,
        rules: ["n/a", expect.stringContaining("1 decision ")],
      });
      expect(await check(await make({ withPrivate: false }))).toMatchObject({
        code: 3,
        rules: ["n/a", expect.stringContaining("3 decisions without content")],
      });
      const more = new Map(files).set(
        "rules/000000000009.json",
        encodePackJson({ text: "", fallback: "ask" }),
      );
      expect((await check(more)).rules?.[1]).toContain("rules/000000000009.json is no file of a pack");
    });
  });
});
