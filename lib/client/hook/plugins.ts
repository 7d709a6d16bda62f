/** Plugins that install writes, for agents that have no hooks of commands. */

/** First line of a plugin of ours. */
export const pluginMark = "Written by countersign hook install";

/** Asks our program before and after a call, and lets a call run only if it ended with 0 and did not say no. */
const pluginCore = (
  command: readonly string[],
) => `/** ${pluginMark}: asks a human before a tool is used, and attests the call afterwards. */
import { spawn } from "node:child_process";

const command = ${JSON.stringify(command)};

const run = (event, show) =>
  new Promise((resolve) => {
    const [program, ...args] = command;
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    const ended = { code: 2, out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => (ended.out += text));
    child.stderr.setEncoding("utf8").on("data", (text) => {
      ended.err += text;
      show(text);
    });
    child.on("error", (error) => resolve({ ...ended, err: String(error) }));
    child.on("close", (code) => resolve({ ...ended, code: code ?? 2 }));
    child.stdin.on("error", () => undefined).end(JSON.stringify({ cwd: process.cwd(), ...event }));
  });

/** Returns why a call must not run; null if it may. */
async function refuse(event, show) {
  const { code, out, err } = await run({ event: "before", ...event }, show);
  if (code !== 0) return err.trim() || ${JSON.stringify("countersign: this hook failed. A call that waits for it does not run.")};
  if (out.trim() === "") return null;
  const { decision, reason } = JSON.parse(out);
  return decision === "allow" ? null : String(reason);
}
`;

export const openCodePlugin = (command: readonly string[]) => `${pluginCore(command)}
export const Countersign = async ({ client, directory }) => {
  const show = (message) =>
    client.tui.showToast({ body: { title: "Countersign", message, variant: "info", duration: 60_000 } }).catch(() => undefined);
  const call = ({ tool, sessionID, callID }, input) => ({ cwd: directory, session: sessionID, call: callID, tool, input });
  return {
    "tool.execute.before": async (asked, { args }) => {
      const why = await refuse(call(asked, args), show);
      if (why !== null) throw new Error(why);
    },
    "tool.execute.after": async (ended, { metadata, isError }) => {
      const result = { exit: metadata?.exit, isError: isError ?? (metadata?.exit === undefined ? false : undefined) };
      await run({ event: "after", ...call(ended, ended.args), result }, show);
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await run({ event: "end", session: event.properties.sessionID }, show);
    },
  };
};
`;

export const piPlugin = (command: readonly string[]) => `${pluginCore(command)}
export default function (pi) {
  const allowed = new Map();
  const showIn = (ctx) => (message) => ctx.ui?.notify?.(message, "info");
  const call = ({ toolName, toolCallId }, ctx, input) => ({
    cwd: ctx.cwd,
    session: ctx.sessionManager.getSessionId(),
    call: toolCallId,
    tool: toolName,
    input,
  });
  pi.on("tool_call", async (event, ctx) => {
    const input = structuredClone(event.input);
    const reason = await refuse(call(event, ctx, input), showIn(ctx)).catch(String);
    if (reason !== null) return { block: true, reason };
    allowed.set(event.toolCallId, input);
  });
  pi.on("tool_execution_end", async (event, ctx) => {
    const input = allowed.get(event.toolCallId);
    if (!allowed.delete(event.toolCallId)) return;
    await run({ event: "after", ...call(event, ctx, input), result: { isError: event.isError } }, showIn(ctx));
  });
}
`;
