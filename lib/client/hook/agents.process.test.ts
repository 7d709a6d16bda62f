/**
 * Guarantee: a real agent waits for a human, runs exactly what was approved, and its call is attested as it ended. Runs by
 * `npm run test:agents`, which installs the agents' packages in a folder: AGENTS.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approveUnproven, openNext } from "#support/authorizations";
import { type HookTest, runHookProcess, startHookTest } from "#support/hook-process";
import { agents, type DialectName } from "./agents";

const folder = process.env["AGENTS"] ?? "";
const inFolder = (file: string) => path.join(folder, "node_modules", file);

/** A model that uses a shell once, and then is done. */
interface Model {
  url: string;
  command: string;
  /** True to leave Codex's sandbox. */
  isEscalating: boolean;
  close(): void;
}

type Json = Record<string, unknown>;
const shells = ["Bash", "bash", "exec_command", "run_shell_command", "terminal"];
const pick = (names: (string | undefined)[]) => names.find((name) => shells.includes(name ?? ""));
const shellArguments = (command: string) => ({ command, cmd: command, description: "x" });

/** Answer as a whole, for who doesn't want a stream. */
function answerWhole(body: Json, { command }: Model): object {
  const isCall = !(body["messages"] as Json[]).some(({ role }) => role === "tool");
  const call = { name: "terminal", arguments: JSON.stringify({ command }) };
  const message = isCall
    ? { role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: call }] }
    : { role: "assistant", content: "done" };
  const choice = { index: 0, message, finish_reason: isCall ? "tool_calls" : "stop" };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return { id: "c", object: "chat.completion", created: 1, model: "m", choices: [choice], usage };
}

/** Events of a stream that each protocol has for a call of a tool, or for its end. */
function answerModel(url: string, body: Json, { command, isEscalating }: Model): string[] {
  // biome-ignore lint/suspicious/noExplicitAny: a model reads whatever an agent sends
  const given = body as any;
  const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
  const named = (type: string, value: object) => `event: ${type}\n${data({ type, ...value })}`;
  if (url.includes("/chat/completions")) {
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const tools = (given.tools ?? []).map((tool: any) => tool.function);
    const name = pick(tools.map((tool: Json) => tool["name"]));
    const known = tools.find((tool: Json) => tool["name"] === name)?.parameters?.properties ?? {};
    // Vibe refuses a call with arguments that it doesn't know.
    const wanted = Object.entries(shellArguments(command)).filter(([argument]) => argument in known);
    const isCall = name !== undefined && !given.messages.some((one: Json) => one["role"] === "tool");
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const chunk = (delta: object, finish_reason: string | null) =>
      data({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [{ index: 0, delta, finish_reason }],
        ...(finish_reason !== null && { usage }),
      });
    const call = {
      index: 0,
      id: "call_1",
      type: "function",
      function: { name, arguments: JSON.stringify(Object.fromEntries(wanted)) },
    };
    return [
      isCall
        ? chunk({ role: "assistant", tool_calls: [call] }, null)
        : chunk({ role: "assistant", content: "done" }, null),
      chunk({}, isCall ? "tool_calls" : "stop"),
      "data: [DONE]\n\n",
    ];
  }
  if (url.includes("/responses")) {
    const isCall = !given.input.some((one: Json) => one["type"] === "function_call_output");
    const name = pick(given.tools.map((tool: Json) => tool["name"]));
    const more = isEscalating ? { sandbox_permissions: "require_escalated", justification: "x" } : {};
    const item = isCall
      ? {
          type: "function_call",
          id: "f",
          call_id: "call_1",
          name,
          arguments: JSON.stringify({ ...shellArguments(command), ...more }),
        }
      : {
          type: "message",
          id: "m",
          role: "assistant",
          content: [{ type: "output_text", text: "done", annotations: [] }],
        };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    return [
      named("response.created", { response: { id: "r" } }),
      named("response.output_item.done", { output_index: 0, item }),
      named("response.completed", { response: { id: "r", output: [item], usage } }),
    ];
  }
  if (url.includes("enerateContent")) {
    const parts: Json[] = given.contents.flatMap((one: Json) => one["parts"]);
    const tools = (given.tools ?? []).flatMap((tool: Json) => tool["functionDeclarations"] ?? []);
    const name = pick(tools.map((tool: Json) => tool["name"]));
    const isCall = name !== undefined && !parts.some((part) => part["functionResponse"] !== undefined);
    const part = isCall ? { functionCall: { name, args: { command, description: "x" } } } : { text: "done" };
    return [
      data({ candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }] }),
    ];
  }
  const contents: Json[] = given.messages.flatMap((one: Json) =>
    Array.isArray(one["content"]) ? one["content"] : [],
  );
  const name = pick((given.tools ?? []).map((tool: Json) => tool["name"]));
  const isCall = name !== undefined && !contents.some((one) => one["type"] === "tool_result");
  const [block, delta] = isCall
    ? [
        { type: "tool_use", id: "toolu_1", name, input: {} },
        { type: "input_json_delta", partial_json: JSON.stringify({ command, description: "x" }) },
      ]
    : [
        { type: "text", text: "" },
        { type: "text_delta", text: "done" },
      ];
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  return [
    named("message_start", { message }),
    named("content_block_start", { index: 0, content_block: block }),
    named("content_block_delta", { index: 0, delta }),
    named("content_block_stop", { index: 0 }),
    named("message_delta", {
      delta: { stop_reason: isCall ? "tool_use" : "end_turn", stop_sequence: null },
      usage,
    }),
    named("message_stop", {}),
  ];
}

async function startModel(): Promise<Model> {
  const server = http.createServer(async (incoming, outgoing) => {
    let text = "";
    for await (const part of incoming) text += part;
    const isModel =
      incoming.method === "POST" &&
      /completions|responses|streamGenerate|messages(?:\?|$)/.test(incoming.url ?? "");
    if (!isModel) return outgoing.writeHead(404).end("{}");
    const body = JSON.parse(text);
    if (incoming.url?.includes("/chat/completions") && body.stream !== true) {
      outgoing.writeHead(200, { "content-type": "application/json" });
      return outgoing.end(JSON.stringify(answerWhole(body, model)));
    }
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.end(answerModel(incoming.url ?? "", body, model).join(""));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const model: Model = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    command: "",
    isEscalating: false,
    close: () => server.close(),
  };
  return model;
}

interface Tried {
  dialect: DialectName;
  program: string;
  argv: string[];
  /** Settings beside ours, and variables that lead it to the model. */
  files(url: string, work: string): Record<string, object | string>;
  env(url: string): Record<string, string>;
  outcome: string;
  /** Where `exit` would end the agent's own shell. */
  command?: string;
  /** Starts it in a terminal. */
  terminal?: string[];
}

const runOpenHands = `import os
from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.hooks import HookConfig
from openhands.tools.terminal import TerminalTool
llm = LLM(model="openai/stub", base_url=os.environ["MODEL_URL"], api_key="x", usage_id="stub", num_retries=0)
agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name)])
talk = Conversation(agent=agent, workspace=os.getcwd(), hook_config=HookConfig.load(), visualizer=None)
talk.send_message("go")
talk.run()
talk.close()
`;

const tried: Tried[] = [
  {
    dialect: "claude",
    program: inFolder("@anthropic-ai/claude-code-linux-x64/claude"),
    argv: ["-p", "go", "--dangerously-skip-permissions"],
    terminal: ["go"],
    files: (_, work) => ({
      ".claude.json": {
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved: ["x"] },
        projects: { [work]: { hasTrustDialogAccepted: true } },
      },
    }),
    env: (url) => ({
      ANTHROPIC_API_KEY: "x",
      ANTHROPIC_BASE_URL: url,
      IS_SANDBOX: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    outcome: "failed",
  },
  {
    dialect: "opencode",
    program: inFolder("opencode-linux-x64/bin/opencode"),
    argv: ["run", "go"],
    terminal: ["--prompt", "go"],
    files: (url) => ({
      ".config/opencode/opencode.json": {
        model: "stub/stub",
        autoupdate: false,
        permission: "allow",
        provider: {
          stub: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/v1`, apiKey: "x" },
            models: { stub: {} },
          },
        },
      },
    }),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1" }),
    outcome: "failed",
  },
  {
    dialect: "gemini",
    program: inFolder("@google/gemini-cli/bundle/gemini.js"),
    argv: ["-m", "gemini-2.5-flash", "--yolo", "-p", "go"],
    terminal: ["-m", "gemini-2.5-flash", "--yolo", "-i", "go"],
    files: () => ({ ".gemini/settings.json": { security: { auth: { selectedType: "gemini-api-key" } } } }),
    env: (url) => ({ GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: "true" }),
    outcome: "failed",
  },
  {
    dialect: "qwen",
    program: inFolder("@qwen-code/qwen-code/cli.js"),
    argv: ["--yolo", "-p", "go"],
    terminal: ["--yolo", "-i", "go"],
    files: () => ({ ".qwen/settings.json": { security: { auth: { selectedType: "openai" } } } }),
    env: (url) => ({ OPENAI_API_KEY: "x", OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "stub" }),
    outcome: "failed",
  },
  {
    dialect: "pi",
    program: inFolder("@earendil-works/pi-coding-agent/dist/bundle/cli.js"),
    argv: ["-p", "--provider", "stub", "--model", "stub", "go"],
    terminal: ["--provider", "stub", "--model", "stub", "go"],
    files: (url) => ({
      ".pi/agent/models.json": {
        providers: {
          stub: {
            baseUrl: `${url}/v1`,
            apiKey: "x",
            api: "openai-completions",
            models: [{ id: "stub", name: "stub", contextWindow: 100_000, maxTokens: 1_000 }],
          },
        },
      },
    }),
    env: () => ({ PI_OFFLINE: "1", PI_TELEMETRY: "0" }),
    outcome: "failed",
  },
  {
    dialect: "codex",
    program: inFolder("@openai/codex/bin/codex.js"),
    argv: ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "go"],
    terminal: ["--dangerously-bypass-hook-trust", "go"],
    files: (url) => ({
      ".codex/config.toml": `model = "gpt-5.2-codex"\nmodel_provider = "stub"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n[model_providers.stub]\nname = "stub"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n`,
    }),
    env: () => ({ STUB_KEY: "x" }),
    outcome: "unknown",
  },
  {
    dialect: "copilot",
    program: inFolder("@github/copilot-linux-x64/copilot"),
    argv: ["-p", "go", "--allow-all-tools"],
    terminal: ["-i", "go"],
    files: () => ({}),
    env: (url) => ({
      COPILOT_ALLOW_ALL: "true",
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: "x",
      COPILOT_MODEL: "stub",
    }),
    outcome: "failed",
  },
  {
    dialect: "openhands",
    program: path.join(folder, "openhands/bin/python"),
    argv: ["../run.py"],
    files: () => ({ "run.py": runOpenHands }),
    env: (url) => ({ MODEL_URL: `${url}/v1`, LITELLM_LOCAL_MODEL_COST_MAP: "True" }),
    outcome: "failed",
    command: "touch ran; (exit 3)",
  },
  {
    dialect: "vibe",
    program: path.join(folder, "vibe/bin/vibe"),
    argv: ["-p", "go", "--auto-approve"],
    terminal: ["--auto-approve", "--trust", "go"],
    files: (url) => ({
      ".vibe/config.toml": `active_model = "stub"\nenable_telemetry = false\nenable_update_checks = false\n[[providers]]\nname = "stub"\napi_base = "${url}/v1"\napi_key_env_var = "STUB_KEY"\napi_style = "openai"\nbackend = "generic"\n[[models]]\nname = "stub"\nprovider = "stub"\nalias = "stub"\n`,
    }),
    env: () => ({ STUB_KEY: "x" }),
    outcome: "failed",
  },
];

describe.skipIf(folder === "")("a real agent", () => {
  let around: HookTest;
  let model: Model;
  beforeAll(async () => {
    around = await startHookTest();
    model = await startModel();
  });
  afterAll(async () => {
    model.close();
    await around.close();
  });

  /** A home with the agent's settings, and a folder to work in. */
  async function prepare({ files }: Tried, name: string) {
    const home = path.join(around.folder, name);
    const work = path.join(home, "work");
    await mkdir(work, { recursive: true });
    await writeFile(path.join(home, "key"), around.key, { mode: 0o600 });
    for (const [file, content] of Object.entries(files(model.url, work))) {
      await mkdir(path.dirname(path.join(home, file)), { recursive: true });
      await writeFile(path.join(home, file), typeof content === "string" ? content : JSON.stringify(content));
    }
    return { home, work };
  }

  /** Resolves with its output when it has ended. */
  const run = ({ program, argv, env }: Tried, home: string, more: Record<string, string> = {}) =>
    new Promise<string>((resolve) => {
      const isScript = program.endsWith(".js");
      const node = process.env["AGENTS_NODE"] ?? process.execPath;
      const child = spawn(isScript ? node : program, isScript ? [program, ...argv] : argv, {
        cwd: path.join(home, "work"),
        env: {
          ...{ NODE_ENV: "test", TERM: "dumb", HOME: home, PATH: process.env["PATH"] ?? "" },
          ...env(model.url),
          ...more,
        },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let said = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text) => {
          said += text;
        });
      child.on("close", () => resolve(said));
    });

  async function approveFirst(ended: Promise<string>, agent: string, work: string) {
    const asked = await Promise.race([
      openNext(around.test, around.key, agent),
      ended.then((said) => {
        throw new Error(`ended without asking: ${said}`);
      }),
    ]);
    expect(await readdir(work), "not before the approval").toEqual([]);
    await approveUnproven(around.test, asked.requestId);
    await ended;
    expect(await readdir(work)).toEqual(["ran"]);
    const [made, ...more] = await around.list("attestations", agent);
    expect(more).toEqual([]);
    const path_ = `/v1/verify/${made.attestation_id}`;
    return (await around.test.call("GET", path_, { key: around.key })).body;
  }

  it.each(tried)(
    "waits for a human, and runs what was approved: $dialect",
    async (one) => {
      const { dialect, program, outcome, command = "touch ran; exit 3" } = one;
      expect(existsSync(program), `${program} is installed`).toBe(true);
      const { home, work } = await prepare(one, dialect);
      const env = { HOME: home, COUNTERSIGN_URL: around.service.base };
      const agent = `real-${dialect}`;
      const key = path.join(home, "key");
      const install = (...more: string[]) =>
        runHookProcess(
          ["install", "--agent", agent, "--key-file", key, "--dialect", dialect, "--yes", ...more],
          "",
          { cwd: home, env },
        );
      expect(await install()).toMatchObject({ code: 0 });
      model.command = command;
      const body = await approveFirst(run(one, home), agent, work);
      expect([body.metadata, body.human_approval.method]).toEqual([{ outcome }, "proof_of_personhood"]);

      await rm(path.join(work, "ran"));
      expect(await install("--timeout", "1")).toMatchObject({ code: 0 });
      await run(one, home);
      expect(await readdir(work), "nobody decided in time").toEqual([]);
    },
    400_000,
  );

  const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
  it.skipIf(!hasTmux).each(tried.filter(({ terminal }) => terminal !== undefined))(
    "shows its user link and code while a call waits: $dialect",
    async (one) => {
      const { dialect, program, terminal = [], env } = one;
      const { home, work } = await prepare(one, `${dialect}-terminal`);
      const agent = `shown-${dialect}`;
      const options = ["--agent", agent, "--key-file", path.join(home, "key"), "--dialect", dialect, "--yes"];
      const place = { cwd: home, env: { HOME: home, COUNTERSIGN_URL: around.service.base } };
      expect(await runHookProcess(["install", ...options], "", place)).toMatchObject({ code: 0 });
      model.command = "touch ran";
      const node = program.endsWith(".js") ? [process.env["AGENTS_NODE"] ?? process.execPath] : [];
      const given = {
        ...env(model.url),
        HOME: home,
        TERM: "xterm-256color",
        PATH: process.env["PATH"] ?? "",
      };
      const variables = Object.entries(given).map(([name, value]) => `${name}=${value}`);
      const words = ["env", "-i", ...variables, ...node, program, ...terminal];
      const written = path.join(home, "written");
      const tmux = (...argv: string[]) =>
        spawnSync("tmux", ["-S", path.join(home, "tmux"), "-f", "/dev/null", ...argv], { encoding: "utf8" })
          .stdout;
      tmux(
        ...["new-session", "-d", "-x", "150", "-y", "45", "-c", work, ...words, ";"],
        ...["pipe-pane", `cat > ${written}`],
      );
      try {
        const { requestId, read } = await openNext(around.test, around.key, agent);
        const { confirmation_code: code } = (await read(around.key)).body;
        const readShown = async () =>
          agents[dialect].shows.includes("notification")
            ? (await readFile(written, "utf8")).split("\u001b]9;")[1]?.split("\u0007")[0]
            : tmux("capture-pane", "-p");
        // OpenCode breaks the link into lines.
        const link = requestId.slice(0, 12);
        await expect.poll(readShown).toMatch(new RegExp(`${code}[^]*${link}|${link}[^]*${code}`));
        await approveUnproven(around.test, requestId);
        await expect.poll(() => readdir(work)).toEqual(["ran"]);
      } finally {
        const group = -Number(tmux("display-message", "-p", "#{pane_pid}"));
        tmux("kill-server");
        // An agent that still ends writes into a folder that is removed.
        await expect.poll(() => spawnSync("kill", ["-KILL", "--", String(group)]).status).toBe(1);
      }
    },
    400_000,
  );

  /** One turn in Codex's own protocol, in which it asks its user as in a terminal. Resolves with what it asked. */
  async function askCodex({ program, env }: Tried, home: string): Promise<string[]> {
    const child = spawn(process.execPath, [program, "app-server"], {
      cwd: path.join(home, "work"),
      env: { NODE_ENV: "test", HOME: home, PATH: process.env["PATH"] ?? "", ...env(model.url) },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const send = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const asked: string[] = [];
    send({ id: 1, method: "initialize", params: { clientInfo: { name: "x", version: "1" } } });
    for await (const line of createInterface(child.stdout)) {
      const { id, method, result } = JSON.parse(line);
      if (id === 1) {
        send({ method: "initialized" });
        const rules = { approvalPolicy: "on-request", sandbox: "read-only" };
        send({ id: 2, method: "thread/start", params: { ...rules, config: { bypass_hook_trust: true } } });
      } else if (id === 2 && method === undefined) {
        const input = [{ type: "text", text: "go" }];
        send({ id: 3, method: "turn/start", params: { threadId: result.thread.id, input } });
      } else if (method !== undefined && id !== undefined) {
        asked.push(method);
        send({ id, result: { decision: "decline" } });
      } else if (method === "turn/completed") child.kill();
    }
    return asked;
  }

  it("answers Codex's own question for an approved call, and leaves others to its user", async () => {
    const codex = tried.find(({ dialect }) => dialect === "codex") as Tried;
    const { home, work } = await prepare(codex, "codex-prompts");
    const options = [
      "--agent",
      "real-prompts",
      "--key-file",
      path.join(home, "key"),
      "--dialect",
      "codex",
      "--yes",
    ];
    const install = (...more: string[]) =>
      runHookProcess(["install", ...options, ...more], "", {
        cwd: home,
        env: { HOME: home, COUNTERSIGN_URL: around.service.base },
      });
    [model.command, model.isEscalating] = ["touch ran", true];
    expect(await install("--answer-prompts")).toMatchObject({ code: 0 });
    let asked: string[] = [];
    const ended = askCodex(codex, home).then((list) => {
      asked = list;
      return "";
    });
    const body = await approveFirst(ended, "real-prompts", work);
    expect([body.human_approval.method, asked]).toEqual(["proof_of_personhood", []]);
    await rm(path.join(work, "ran"));
    expect(await install("--ask", "apply_patch")).toMatchObject({ code: 0 });
    expect(await askCodex(codex, home)).toEqual(["item/commandExecution/requestApproval"]);
    model.isEscalating = false;
    expect(await readdir(work)).toEqual([]);
  }, 400_000);

  it("comes to the service itself by a hook of type http, and runs nothing if it doesn't answer: claude", async () => {
    const [claude] = tried as [Tried];
    const { home, work } = await prepare(claude, "http");
    const write = (base: string) => {
      const hook = {
        type: "http",
        url: `${base}/v1/hook?agent=real-http&ask=Bash`,
        headers: { Authorization: "Bearer $HOOK_KEY" },
        allowedEnvVars: ["HOOK_KEY"],
        timeout: 60,
        onFailure: "block",
      };
      const events = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];
      const hooks = Object.fromEntries(events.map((event) => [event, [{ hooks: [hook] }]]));
      return writeFile(path.join(home, ".claude/settings.json"), JSON.stringify({ hooks }));
    };
    await mkdir(path.join(home, ".claude"));
    await write(around.service.base);
    model.command = "touch ran";
    const ended = run(claude, home, { HOOK_KEY: around.key });
    const body = await approveFirst(ended, "real-http", work);
    expect(body.metadata).toEqual({ outcome: "completed" });
    await rm(path.join(work, "ran"));
    for (const [base, key] of [
      ["http://127.0.0.1:9", around.key],
      [around.service.base, "cs_test_none"],
    ] as const) {
      await write(base);
      await run(claude, home, { HOOK_KEY: key });
      expect(await readdir(work), base).toEqual([]);
    }
  }, 400_000);
});
