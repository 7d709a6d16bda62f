#!/bin/sh
# @openai/codex 0.171.0 (npm, linux-x64), Node 20: the systemMessage of a PreToolUse hook that has ended is shown only when
# every other hook of the event has ended too, the slowest included: a quick hook can't tell people that a slow one waits for
# something. Its guide says "surfaced as a warning in the UI or event stream", but the events of `codex exec --json` don't have
# it at all. Here the slow hook waits up to five seconds to see it shown.
# Output:  terminal: message shown, slow hook waited in vain   exec: no message, slow hook waited in vain
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @openai/codex@0.171.0 >/dev/null
mkdir work .codex
cat > slow.sh <<'H'
for turn in $(seq 10); do
  [ ! -e "$HOME/shown" ] || { echo "saw it" >"$HOME/slow"; exit; }
  sleep 0.5
done
echo "waited in vain" >"$HOME/slow"
H
cat > run.mjs <<'S'
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
const home = process.cwd();
let isDone = false;
const call = { type: "function_call", id: "f", call_id: "c", name: "exec_command", arguments: '{"cmd":"true"}' };
const message = { type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text: "done", annotations: [] }] };
const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  if (request.method !== "POST") return response.writeHead(404).end("{}");
  const { input, tools = [] } = JSON.parse(body);
  isDone ||= input.some(({ type }) => type === "function_call_output");
  // A request for the session's title has no such tool.
  const item = !isDone && tools.some(({ name }) => name === "exec_command") ? call : message;
  const events = [
    { type: "response.created", response: { id: "r" } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: "r", output: [item], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } } },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(""));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const commands = [`echo '{"systemMessage":"QUICK"}'`, `sh ${home}/slow.sh`];
const hooks = { PreToolUse: [{ hooks: commands.map((command) => ({ type: "command", command })) }] };
writeFileSync(".codex/hooks.json", JSON.stringify({ hooks }));
writeFileSync(".codex/config.toml", `model = "stub"\nmodel_provider = "stub"\napproval_policy = "never"
sandbox_mode = "danger-full-access"\n[analytics]\nenabled = false\n[projects."${home}/work"]\ntrust_level = "trusted"
[model_providers.stub]\nname = "stub"\nbase_url = "http://127.0.0.1:${server.address().port}/v1"
wire_api = "responses"\nenv_key = "STUB_KEY"\n`);
const env = { PATH: process.env.PATH, HOME: home, TERM: "xterm-256color", STUB_KEY: "x" };
async function show(words) {
  isDone = false;
  for (const file of ["shown", "slow"]) rmSync(file, { force: true });
  const program = `${process.execPath} ${home}/node_modules/@openai/codex/bin/codex.js ${words}`;
  const command = `stty cols 100 rows 40; echo $$ >group; cd work; exec ${program} --dangerously-bypass-hook-trust go`;
  const child = spawn("script", ["-qec", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  let text = "";
  child.stdout.on("data", (part) => {
    text += part;
    if (text.includes("QUICK")) writeFileSync("shown", "");
    // Codex asks its terminal where the cursor is.
    if (String(part).includes("\x1b[6n")) child.stdin.write("\x1b[1;1R");
  });
  for (const limit = Date.now() + 60_000; !isDone && Date.now() < limit; ) await sleep(100);
  await sleep(1_000);
  spawnSync("kill", ["-KILL", "--", `-${readFileSync("group", "utf8").trim()}`]);
  await ended;
  await sleep(500);
  return `${existsSync("shown") ? "message shown" : "no message"}, slow hook ${readFileSync("slow", "utf8").trim()}`;
}
console.log(`terminal: ${await show("")}   exec: ${await show("exec --json --skip-git-repo-check")}`);
server.close();
server.closeAllConnections();
S
line=$(node run.mjs)
echo "$line"
[ "$line" = "terminal: message shown, slow hook waited in vain   exec: no message, slow hook waited in vain" ]
