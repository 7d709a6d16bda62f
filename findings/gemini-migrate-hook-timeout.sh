#!/bin/sh
# @google/gemini-cli 0.61.0 beside @anthropic-ai/claude-code 2.1.332 (npm, linux-x64), Node 20: `gemini hooks migrate --from-claude`
# takes over Claude Code's hooks, and their `timeout` with them, as the same number. Claude Code counts it in seconds, Gemini CLI in
# milliseconds, and nothing is said about it: a hook that may take two seconds gets two milliseconds, one that waits ten minutes for a
# person 0.6 s. It is ended as it starts, and the agent goes on. With a thousand times the number, it ends by itself. Known upstream
# as #29122.
# Output (a hook that needs one second, timeout 2):
#   Claude Code: ended by itself   migrated: timeout 2, cut off   with timeout 2000: ended by itself
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @anthropic-ai/claude-code@2.1.332 @google/gemini-cli@0.61.0 >/dev/null
mkdir -p work/.claude .gemini
cat > hook.sh <<'S'
trap 'exit 1' TERM
sleep 1
echo ended >"$HOME/ended"
S
cat > run.mjs <<'S'
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
const home = process.cwd();
const data = (value) => `data: ${JSON.stringify(value)}\n\n`;
const message = { id: "m", type: "message", role: "assistant", model: "stub", content: [], stop_reason: null, stop_sequence: null };
const usage = { input_tokens: 1, output_tokens: 1 };
const claudeEvents = [
  { type: "message_start", message: { ...message, usage } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "done" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
  { type: "message_stop" },
];
const answers = {
  claude: claudeEvents.map((event) => `event: ${event.type}\n${data(event)}`).join(""),
  gemini: data({ candidates: [{ content: { role: "model", parts: [{ text: "done" }] }, finishReason: "STOP", index: 0 }] }),
};
const server = createServer((request, response) => {
  request.resume();
  if (request.method !== "POST") return response.writeHead(404).end("{}");
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(request.url.includes("enerateContent") ? answers.gemini : answers.claude);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${server.address().port}`;
const auth = { selectedType: "gemini-api-key" };
writeFileSync(".gemini/settings.json", JSON.stringify({ security: { auth }, privacy: { usageStatisticsEnabled: false } }));
const hooks = { UserPromptSubmit: [{ hooks: [{ type: "command", command: `sh ${home}/hook.sh`, timeout: 2 }] }] };
writeFileSync("work/.claude/settings.json", JSON.stringify({ hooks }));
const env = {
  PATH: process.env.PATH, HOME: home, IS_SANDBOX: "1",
  ANTHROPIC_BASE_URL: base, ANTHROPIC_API_KEY: "x", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: base, GEMINI_CLI_TRUST_WORKSPACE: "true",
};
async function run(program, ...args) {
  rmSync("ended", { force: true });
  const child = spawn(program, args, { cwd: "work", env, stdio: "ignore" });
  await new Promise((resolve) => child.on("close", resolve));
  return existsSync("ended") ? "ended by itself" : "cut off";
}
const gemini = (...args) => run(process.execPath, `${home}/node_modules/@google/gemini-cli/bundle/gemini.js`, ...args);
const claude = `${home}/node_modules/@anthropic-ai/claude-code-linux-x64/claude`;
const before = await run(claude, "-p", "go", "--model", "stub", "--dangerously-skip-permissions");
await gemini("hooks", "migrate", "--from-claude");
const migrated = "work/.gemini/settings.json";
const settings = JSON.parse(readFileSync(migrated, "utf8"));
const [hook] = settings.hooks.BeforeAgent[0].hooks;
const found = `timeout ${hook.timeout}, ${await gemini("-m", "gemini-2.5-flash", "-p", "go")}`;
hook.timeout *= 1000;
writeFileSync(migrated, JSON.stringify(settings));
const corrected = await gemini("-m", "gemini-2.5-flash", "-p", "go");
console.log(`Claude Code: ${before}   migrated: ${found}   with timeout 2000: ${corrected}`);
server.close();
server.closeAllConnections();
S
line=$(node run.mjs)
echo "$line"
[ "$line" = "Claude Code: ended by itself   migrated: timeout 2, cut off   with timeout 2000: ended by itself" ]
