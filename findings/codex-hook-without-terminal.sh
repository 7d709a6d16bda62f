#!/bin/sh
# @openai/codex 0.171.0 (npm, linux-x64), Node 20: Codex starts a hook as the leader of a session of its own, so the hook has
# no controlling terminal, and /dev/tty doesn't open although Codex runs in one. `codex exec` does so too. A hook of Gemini CLI
# 0.61.0 (@google/gemini-cli) is in the session of its terminal, and may ask or show there.
# Output:  codex: own session, /dev/tty refused   gemini: the terminal's session, /dev/tty opens
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @openai/codex@0.171.0 @google/gemini-cli@0.61.0 >/dev/null
mkdir work .codex .gemini
cat > hook.sh <<'H'
set -- "$PPID" $(cat /proc/$$/stat)
if [ "$7" = "$(cat "$HOME/terminal")" ]; then session="the terminal's session"
elif [ "$7" = "$2" ] || [ "$7" = "$1" ]; then session="own session"
else session="another session"
fi
if (: </dev/tty) 2>/dev/null; then opens=opens; else opens=refused; fi
echo "$session, /dev/tty $opens" >"$HOME/found"
echo '{}'
H
cat > run.mjs <<'S'
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
const home = process.cwd();
const data = (value) => `data: ${JSON.stringify(value)}\n\n`;
const named = (value) => `event: ${value.type}\n${data(value)}`;
const message = { type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text: "done", annotations: [] }] };
const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const answers = {
  codex:
    named({ type: "response.created", response: { id: "r" } }) +
    named({ type: "response.output_item.done", output_index: 0, item: message }) +
    named({ type: "response.completed", response: { id: "r", output: [message], usage } }),
  gemini: data({ candidates: [{ content: { role: "model", parts: [{ text: "done" }] }, finishReason: "STOP", index: 0 }] }),
};
const server = createServer((request, response) => {
  request.resume();
  if (request.method !== "POST") return response.writeHead(404).end("{}");
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(request.url.includes("enerateContent") ? answers.gemini : answers.codex);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${server.address().port}`;
const hooks = [{ hooks: [{ type: "command", command: `sh ${home}/hook.sh` }] }];
writeFileSync(".codex/hooks.json", JSON.stringify({ hooks: { UserPromptSubmit: hooks } }));
writeFileSync(".codex/config.toml", `model = "stub"\nmodel_provider = "stub"\n[analytics]\nenabled = false
[model_providers.stub]\nname = "stub"\nbase_url = "${base}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n`);
const auth = { selectedType: "gemini-api-key" };
writeFileSync(".gemini/settings.json", JSON.stringify({ security: { auth }, privacy: { usageStatisticsEnabled: false }, hooks: { BeforeAgent: hooks } }));
const env = {
  PATH: process.env.PATH, HOME: home, TERM: "xterm-256color", STUB_KEY: "x",
  GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: base, GEMINI_CLI_TRUST_WORKSPACE: "true",
};
async function find(program) {
  const command = `echo $$ >terminal; cd work; exec ${process.execPath} ${home}/node_modules/${program}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], { env, stdio: ["pipe", "ignore", "ignore"] });
  await new Promise((resolve) => child.on("close", resolve));
  return readFileSync("found", "utf8").trim();
}
const codex = await find("@openai/codex/bin/codex.js exec --skip-git-repo-check --dangerously-bypass-hook-trust go");
const gemini = await find("@google/gemini-cli/bundle/gemini.js -m gemini-2.5-flash -p go");
console.log(`codex: ${codex}   gemini: ${gemini}`);
server.close();
server.closeAllConnections();
S
line=$(node run.mjs)
echo "$line"
[ "$line" = "codex: own session, /dev/tty refused   gemini: the terminal's session, /dev/tty opens" ]
