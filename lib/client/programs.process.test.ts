/** The programs of the guides for agents, as they are printed: compiled strictly, and run. */
import { createHmac, generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toUnlinkedText } from "#lib/protocol/text/display-text";
import { approveUnproven, openNext } from "#support/authorizations";
import { runProgram } from "#support/commands";
import { anyKind } from "#support/databases";
import { type Listening, listen, listenFor } from "#support/listen";
import { setupTestApp } from "#support/setup-app";
import { spawnProgram } from "#support/spawn-program";

const slugs = ["ai-sdk", "langgraph", "openai-agents", "plain-http", "approval-cards", "github-deployments"];
const order = `{ invoice: 1042, cents: 10_000 }`;
/** Code that the reader adds: a model that calls `pay` once. */
const models = new Map([
  ["ai-sdk", ["mock-models", "modelOfAiSdk6", `import("ai").LanguageModel`]],
  ["openai-agents", ["mock-openai-model", "modelOfOpenAi", `import("@openai/agents").Model`]],
]);

const agent = "invoice-agent-7";

const { test } = setupTestApp(anyKind, { LIMIT_AUTHORIZE_PER_MINUTE: "1000" });
let service: Listening;
let key: string;
let folder: string;
const inFolder = (...names: string[]) => path.join(folder, ...names);

async function readFence(slug: string, language: string): Promise<string> {
  const text = await readFile(`components/guides/content/${slug}.md`, "utf8");
  const fences = text.replaceAll("{base}", service.base).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  const codes = [...fences].filter(([, name]) => name === language).map(([, , code = ""]) => code);
  return codes.at(-1) ?? "";
}

async function writeModel(slug: string): Promise<void> {
  const [file, name, type] = models.get(slug) ?? [];
  if (file === undefined) return;
  const contents = `import { ${name} } from "./e2e/support/${file}"; export const model = ${name}(${order});`;
  const outfile = inFolder(slug, "model.js");
  const stdin = { contents, resolveDir: process.cwd() };
  await build({ stdin, outfile, bundle: true, format: "esm", platform: "node", packages: "external" });
  await writeFile(inFolder(slug, "model.d.ts"), `export declare const model: ${type};`);
}

beforeAll(async () => {
  service = await listenFor(test);
  ({ key } = await test.createKey());
  folder = await mkdtemp(path.join(tmpdir(), "countersign-programs-"));
  for (const scope of ["@langchain", "@openai", "@types"])
    await mkdir(inFolder("node_modules", scope), { recursive: true });
  for (const name of [
    "ai",
    "ai-7",
    "zod",
    "@langchain/core",
    "@langchain/langgraph",
    "@openai/agents",
    "@types/node",
  ])
    await symlink(path.resolve("node_modules", name), inFolder("node_modules", name));
  await symlink(process.cwd(), inFolder("node_modules", "countersign"));
  await writeFile(inFolder("package.json"), JSON.stringify({ type: "module" }));
  for (const slug of slugs) {
    await mkdir(inFolder(slug));
    await writeFile(inFolder(slug, "program.ts"), await readFence(slug, "ts"));
    await writeModel(slug);
  }
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

const start = (slug: string, args: string[] = []) =>
  runProgram(process.execPath, ["program.js", ...args], {
    cwd: inFolder(slug),
    // Tracing would try to reach its maker for a while before it ends.
    env: { COUNTERSIGN_API_KEY: key, AGENT: agent, OPENAI_AGENTS_DISABLE_TRACING: "1" },
  });
const approveNext = async () => approveUnproven(test, (await openNext(test, key)).requestId);
const attestedBy = async (agent: string) =>
  (await test.call("GET", `/v1/attestations?agent_slug=${agent}`, { key })).body.attestations;

describe("the guides' programs", () => {
  it("compile strictly", async () => {
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: true,
      target: "es2023",
      lib: ["es2023", "dom", "dom.iterable"],
      module: "nodenext",
      types: ["node"],
    };
    const files = slugs.map((slug) => `${slug}/program.ts`);
    await writeFile(inFolder("tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    const compiler = path.resolve("node_modules/typescript/bin/tsc");
    const compiled = await runProgram(process.execPath, [compiler, "-p", "."], { cwd: folder, env: {} });
    expect(compiled).toEqual({ code: 0, out: "" });
  });

  it.each(["ai-sdk", "openai-agents"])("%s: stores the run, and goes on after the decision", async (slug) => {
    const before = (await attestedBy(agent)).length;
    const asked = await start(slug, [slug, "Pay invoice 1042"]);
    expect(asked).toEqual({ code: 0, out: expect.stringMatching(/^http\S+\/approve\/\S+ \S+\n/) });
    const continued = start(slug, [slug]);
    await approveNext();
    expect(await continued).toEqual({ code: 0, out: expect.stringMatching(/done\n$/) });
    expect(await attestedBy(agent)).toHaveLength(before + 1);
    expect(await readFile(inFolder(slug, `${slug}.json`), "utf8")).toMatch(/paid\\?":\s?10000/);
  });

  it("langgraph: interrupts, and goes on after the decision", async () => {
    const running = start("langgraph");
    await approveNext();
    expect(await running).toEqual({
      code: 0,
      out: expect.stringMatching(/^http\S+\/approve\/\S+ \S+\n10000\n$/),
    });
  });

  it("plain-http: fetch, and the shell", async () => {
    await writeFile(inFolder("plain-http/program.sh"), await readFence("plain-http", "sh"));
    const shell = () =>
      runProgram("sh", ["program.sh"], {
        cwd: inFolder("plain-http"),
        env: { PATH: process.env["PATH"], COUNTERSIGN_API_KEY: key, AGENT: agent },
      });
    for (const run of [() => start("plain-http"), shell]) {
      const running = run();
      await approveNext();
      const shown = /^http\S+\/approve\/\S+\s\S+\npaid \{.*\nhttp\S+\/verify\/\S+\n$/;
      expect(await running).toEqual({ code: 0, out: expect.stringMatching(shown) });
      const again = await run();
      expect(again.code, "used before").not.toBe(0);
      expect(again.out).not.toContain("paid");
    }
  });
});

describe("cards", () => {
  const agentsText = `<https://evil.example|Approve> [Approve](https://evil.example) <a href="https://evil.example">Approve</a>`;
  const request = {
    agent_slug: "invoice-agent",
    action: agentsText,
    approval_url: "https://countersign.example/approve/abc",
    confirmation_code: "K7Q-F2M",
    expires_at: "2026-11-22T12:00:00Z",
  };
  type Card = (given: typeof request) => object;
  const makeCard = async (name: string, given = request) => {
    const program = await import(pathToFileURL(inFolder("approval-cards/program.js")).href);
    return (program as Record<string, Card>)[name]?.(given) ?? {};
  };
  /** Every object of the card's JSON. */
  const listObjects = (value: unknown): Record<string, unknown>[] =>
    typeof value !== "object" || value === null
      ? []
      : [value as Record<string, unknown>, ...Object.values(value).flatMap(listObjects)];

  it.each(["slackCard", "teamsCard", "emailCard"])("%s: nothing to make a link of but ours", async (name) => {
    const words = [
      "https://evil.example/x",
      "a@evil.example",
      "http://192.0.2.7",
      "\\\\evil\\x",
      "Pay 1.50 EUR",
    ];
    for (const action of words) {
      const card = JSON.stringify(await makeCard(name, { ...request, agent_slug: "evil.example", action }));
      expect(card).toContain(JSON.stringify(toUnlinkedText(action)).slice(1, -1));
      expect(card).not.toContain("evil.example");
    }
  });

  it("Slack: one link, nothing to press, and the agent's words as plain text", async () => {
    const objects = listObjects(await makeCard("slackCard"));
    const allowed = ["header", "section", "context", "plain_text", "mrkdwn", undefined];
    expect(objects.map(({ type }) => type).filter((type) => !allowed.includes(type as string))).toEqual([]);
    const withLinks = objects.filter(({ type }) => type === "mrkdwn");
    expect(withLinks).toEqual([{ type: "mrkdwn", text: `<${request.approval_url}|Open the request>` }]);
    for (const name of ["url", "action_id", "value", "accessory", "actions"])
      expect(
        objects.some((one) => Object.hasOwn(one, name)),
        name,
      ).toBe(false);
    expect(JSON.stringify(objects)).toContain(request.confirmation_code);
  });

  it("Teams: one link, no action but to open it, and text without markup", async () => {
    const objects = listObjects(await makeCard("teamsCard"));
    const actions = objects.filter(({ type }) => String(type).startsWith("Action."));
    expect(actions).toEqual([{ type: "Action.OpenUrl", url: request.approval_url }]);
    expect(objects.some(({ type }) => type === "TextBlock" || type === "FactSet")).toBe(false);
    expect(objects.some((one) => Object.hasOwn(one, "actions"))).toBe(false);
    expect(JSON.stringify(objects)).toContain(request.confirmation_code);
  });

  it("email: one link, no form, and the agent's words escaped", async () => {
    const { html = "", text } = (await makeCard("emailCard")) as { html?: string; text?: string };
    expect([...html.matchAll(/<(\w+)/g)].map(([, name]) => name).filter((name) => name !== "p")).toEqual([
      "a",
    ]);
    expect(html).toContain(`<a href="${request.approval_url}">Open the request</a>`);
    expect(text).toContain(request.confirmation_code);
  });
});

describe("the deployment protection rule", () => {
  it("answers GitHub what the human decided, to nobody else, and once", async () => {
    const seen: { method: string | undefined; url: string | undefined; token: string; body: object }[] = [];
    const readBody = async (incoming: IncomingMessage) => {
      let text = "";
      for await (const chunk of incoming) text += chunk;
      return JSON.parse(text);
    };
    const github = await listen(async (incoming, outgoing) => {
      const { method, url, headers } = incoming;
      seen.push({ method, url, token: headers.authorization ?? "", body: await readBody(incoming) });
      outgoing.end(url?.endsWith("/access_tokens") ? '{"token":"installation-token"}' : "{}");
    });
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const program = await spawnProgram(inFolder("github-deployments/program.js"), {
      COUNTERSIGN_API_KEY: key,
      AGENT: "deployer",
      GITHUB_API_URL: github.base,
      GITHUB_APP_ID: "77",
      GITHUB_PRIVATE_KEY: String(privateKey.export({ type: "pkcs8", format: "pem" })),
      GITHUB_WEBHOOK_SECRET: "hook-secret",
    });
    const runPath = "/repos/acme/shop/actions/runs/42/deployment_protection_rule";
    const deliver = async (id: number, callback = `${github.base}${runPath}`, secret = "hook-secret") => {
      const body = JSON.stringify({
        action: "requested",
        environment: "production",
        deployment: { id, sha: "c0ffee" },
        deployment_callback_url: callback,
        repository: { full_name: "acme/shop" },
        installation: { id: 5 },
      });
      const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
      const headers = { "x-github-event": "deployment_protection_rule", "x-hub-signature-256": signature };
      return (await fetch(program.base, { method: "POST", headers, body })).status;
    };
    const answers = () => seen.filter(({ url }) => url === runPath);

    const poll = <T>(read: () => T) => expect.poll(read, { timeout: 60_000 });

    expect(await deliver(1, undefined, "guessed")).toBe(401);
    expect(await deliver(2, `https://evil.example${runPath}`)).toBe(202);
    await poll(program.read).toContain("unexpected https://evil.example");

    expect(await deliver(3)).toBe(202);
    const asked = await openNext(test, key, "deployer");
    expect(asked.context).toMatchObject({ commit: "c0ffee" });
    expect(answers()).toEqual([]);
    await approveUnproven(test, asked.requestId);
    await poll(program.read).toContain("answered");
    expect(answers()).toHaveLength(1);
    expect(await attestedBy("deployer")).toHaveLength(1);
    expect(await deliver(3), "delivered again").toBe(202);
    await poll(program.read).toContain("used before");

    expect(await deliver(4)).toBe(202);
    await (await openNext(test, key, "deployer")).deny("no");
    await poll(answers).toHaveLength(2);
    const method = "POST";
    const token = "Bearer installation-token";
    const body = { environment_name: "production", comment: expect.any(String) };
    expect(answers()).toEqual([
      { method, url: runPath, token, body: { ...body, state: "approved" } },
      { method, url: runPath, token, body: { ...body, state: "rejected" } },
    ]);
    const tokens = seen.filter(({ url }) => url !== runPath);
    expect(new Set(tokens.map(({ url }) => url))).toEqual(new Set(["/app/installations/5/access_tokens"]));
    expect(tokens[0]?.token).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
    await program.stop();
    await github.close();
  });
});
