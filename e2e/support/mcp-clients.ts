/** For tests only: MCP's official clients, all of them used the same way. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Installed, installTools } from "./installed-tools";

const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const python = { since: "2.3.0", before: "1.30.0" };
const go = "1.8.0";
export const gitServer = "2026.10.19";
export const npmServers = "2026.8.31";

const installVenv =
  (...packages: string[]): Installed["install"] =>
  (folder) => [
    ["python3", ["-m", "venv", `${folder}/venv`]],
    [`${folder}/venv/bin/python`, ["-m", "pip", "install", "-q", ...packages]],
  ];
const npmNames = ["everything", "filesystem", "memory"].map(
  (name) => `@modelcontextprotocol/server-${name}@${npmServers}`,
);
const tools = {
  python: {
    files: ["client.py"],
    install: installVenv(`mcp==${python.since}`, `mcp-server-git==${gitServer}`),
  },
  formerPython: { files: ["client.py"], install: installVenv(`mcp==${python.before}`) },
  go: {
    files: ["main.go", "go.mod", "go.sum"],
    install: (folder) => [["go", ["build", "-C", folder, "-o", "client", "."]]],
  },
  npm: {
    files: [],
    install: (folder) => [
      ["npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, ...npmNames]],
    ],
  },
} satisfies Record<string, Installed>;
export const installMcp = (name: keyof typeof tools) => installTools("mcp-clients", name, tools[name]);

// biome-ignore lint/suspicious/noExplicitAny: answers as they come
type Answer = Promise<any>;
interface McpPeer {
  send(method: "tools" | "call" | "read" | "prompt", params?: object): { answer: Answer; cancel(): void };
  progress: number[];
  links: string[];
  close(): Promise<void>;
}
type Open = (args: string[], env: Record<string, string>, opensLinks: boolean) => Promise<McpPeer>;

const openTypeScript: Open = async (args, env, opensLinks) => {
  const elicitation = opensLinks ? { elicitation: { url: {} } } : {};
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: elicitation, versionNegotiation: { mode: "auto" } },
  );
  const [progress, links]: [number[], string[]] = [[], []];
  if (opensLinks)
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      if ("url" in params) links.push(params.url);
      return { action: "accept" };
    });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" }));
  return {
    send(method, params) {
      const gone = new AbortController();
      const options = {
        signal: gone.signal,
        onprogress: ({ progress: done }: { progress: number }) => progress.push(done),
      };
      const methods = {
        tools: () => client.listTools(),
        call: () => client.callTool(params as never, options),
        read: () => client.readResource(params as never),
        prompt: () => client.getPrompt(params as never),
      };
      return { answer: methods[method](), cancel: () => gone.abort() };
    },
    ...{ progress, links, close: () => client.close() },
  };
};

/** A program that reads requests as lines of JSON, and writes answers so. */
const openProgram =
  (tool: keyof typeof tools, ...words: string[]): Open =>
  async (args, env, opensLinks) => {
    const folder = await installMcp(tool);
    const [program = "", ...first] = words.map((word) => `${folder}/${word}`);
    const given = [...first, opensLinks ? "links" : "", process.execPath, ...args];
    const child = spawn(program, given, {
      env: { NODE_ENV: "test", ...env },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const waiting = new Map<number, (message: { result?: unknown; error?: string }) => void>();
    const [progress, links]: [number[], string[]] = [[], []];
    const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
    const ready = new Promise<void>((resolve, reject) => {
      void ended.then(() => reject(new Error(`${program} has ended`)));
      createInterface({ input: child.stdout }).on("line", (line) => {
        const message = JSON.parse(line);
        if (message.ready) resolve();
        else if (message.link !== undefined) links.push(message.link);
        else if (message.progress !== undefined) progress.push(message.progress);
        else waiting.get(message.id)?.(message);
      });
    });
    await ready;
    let sent = 0;
    const write = (method: string, params: unknown) => {
      sent += 1;
      child.stdin.write(`${JSON.stringify([sent, method, params])}\n`);
      return sent;
    };
    return {
      send(method, params = {}) {
        const id = write(method, params);
        const answer = new Promise((resolve, reject) => {
          waiting.set(id, ({ result, error }) =>
            error === undefined ? resolve(result) : reject(new Error(error)),
          );
        });
        return { answer, cancel: () => write("cancel", id) };
      },
      progress,
      links,
      close: () => {
        child.stdin.end();
        return ended;
      },
    };
  };

/** Names as the guide has them. */
export const mcpClients: Record<string, Open> = {
  [`TypeScript ${dependencies["@modelcontextprotocol/client"]}`]: openTypeScript,
  [`Python ${python.since}`]: openProgram("python", "venv/bin/python", "client.py"),
  [`Python ${python.before}`]: openProgram("formerPython", "venv/bin/python", "client.py"),
  [`Go ${go}`]: openProgram("go", "client"),
};
