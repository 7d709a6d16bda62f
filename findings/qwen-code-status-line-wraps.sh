#!/bin/sh
# @qwen-code/qwen-code 0.24.4 (npm), Node 20, Linux: its guide (docs/features/status-line.md in the package) says that a status
# line's command may print two lines, that each has a row of its own, and that a line too wide for the terminal is truncated.
# It is wrapped instead, in a box two rows high: the second line of a command is never seen when the first is too wide.
# Output:  first line of 20: END shown, SECOND shown   of 100 in 80 columns: END shown, SECOND not shown
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @qwen-code/qwen-code@0.24.4 >/dev/null
cat > run.mjs <<'S'
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
const home = process.cwd();
const env = {
  PATH: process.env.PATH, HOME: home, TERM: "xterm-256color",
  OPENAI_API_KEY: "x", OPENAI_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_MODEL: "stub",
};
mkdirSync(".qwen");
mkdirSync("work");
async function show(length) {
  const lines = `${"x".repeat(length - 3)}END\\nSECOND\\n`;
  const settings = {
    security: { auth: { selectedType: "openai" } },
    privacy: { usageStatisticsEnabled: false },
    general: { enableAutoUpdate: false },
    ui: { statusLine: { type: "command", command: `printf '${lines}'` } },
  };
  writeFileSync(".qwen/settings.json", JSON.stringify(settings));
  const program = `${process.execPath} ${home}/node_modules/@qwen-code/qwen-code/cli.js`;
  const command = `stty cols 80 rows 40; echo $$ >group; cd work; exec ${program}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  let text = "";
  child.stdout.on("data", (part) => (text += part));
  const limit = Date.now() + 60_000;
  while (!text.includes("END") && Date.now() < limit) await sleep(100);
  await sleep(1_500);
  process.kill(-Number(readFileSync("group", "utf8")), "SIGKILL");
  await ended;
  await sleep(500);
  return ["END", "SECOND"].map((word) => `${word} ${text.includes(word) ? "shown" : "not shown"}`).join(", ");
}
console.log(`first line of 20: ${await show(20)}   of 100 in 80 columns: ${await show(100)}`);
S
line=$(node run.mjs)
echo "$line"
[ "$line" = "first line of 20: END shown, SECOND shown   of 100 in 80 columns: END shown, SECOND not shown" ]
