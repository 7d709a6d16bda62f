/**
 * A coding agent's hook: how long a call of a tool waits for it, beside a start of Node that does nothing, in turns. As it is
 * installed, with its resident helper; and as Claude Code's hooks of type `http`, where no process starts: of a helper with a
 * port, and of the service itself.
 */
import { spawn } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "#ci/postgres";
import { median } from "./figures.mjs";
import { postJson } from "./fill.mjs";
import { printRatio, printSides } from "./rounds.mjs";
import { makeProof, openWorldId, submitProof } from "./world-app.mjs";

export const name = "hook";
export const isOptional = true;

const turns = 20;
/** Calls of tools come seconds apart: what one leaves for the service to do has ended before the next. */
const pauseMs = 100;
/** Calls by each way without a process before the first turn: a service in use has answered more. */
const earlier = 50;
const agent = "bench-hook";

async function approveStanding(service) {
  const grant = {
    tools: ["Bash"],
    max_calls: 10_000,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const headers = { authorization: `Bearer ${service.key}` };
  const body = { agent_slug: agent, action: "Use a shell", grant };
  const { approval_url } = await postJson(`${service.baseUrl}/v1/authorize`, body, headers);
  const start = await openWorldId(approval_url, "198.51.100.1");
  const answer = await submitProof(
    approval_url,
    "198.51.100.1",
    start,
    await makeProof(service.baseUrl, start),
  );
  if (answer.status !== 200) throw new Error(`a proof was answered with ${answer.status}`);
}

const timeProcess = (args, stdin, env) =>
  new Promise((resolve, reject) => {
    const beganMs = performance.now();
    const child = spawn(process.execPath, args, { env, stdio: ["pipe", "ignore", "pipe"] });
    let told = "";
    child.stderr.on("data", (text) => {
      told += text;
    });
    child.on("close", (code) =>
      code === 0 ? resolve(performance.now() - beganMs) : reject(new Error(`ended with ${code}: ${told}`)),
    );
    child.stdin.on("error", () => undefined).end(stdin);
  });

async function timeHttp(url, token, body) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const beganMs = performance.now();
  const answer = await fetch(url, { method: "POST", body, headers });
  const text = await answer.text();
  if (!text.includes('"allow"')) throw new Error(text);
  return performance.now() - beganMs;
}

/** Written by a helper as it begins to listen. */
async function readToken(file) {
  for (let tries = 0; tries < 200; tries += 1) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text !== "") return text.trim();
    await sleep(50);
  }
  throw new Error("the helper did not begin");
}

export async function run(servers) {
  const service = await servers.service("hook", { processes: "1" });
  await approveStanding(service);
  const home = await mkdtemp(path.join(os.tmpdir(), "countersign-bench-hook-"));
  const env = { ...process.env, HOME: home };
  const inHome = (file) => path.join(home, file);
  for (const file of ["countersign-hook.cjs", "countersign-hook.mjs"])
    await copyFile(path.join("dist", file), inHome(file));
  await writeFile(inHome("key"), service.key, { mode: 0o600 });
  let calls = 0;
  const event = (hook_event_name) => {
    calls += 1;
    const call = { tool_use_id: `toolu_${calls}`, tool_name: "Bash", tool_input: { command: `ls ${calls}` } };
    return JSON.stringify({ session_id: "bench", cwd: process.cwd(), hook_event_name, ...call });
  };
  const options = ["--url", service.baseUrl, "--key-file", inHome("key"), "--agent", agent];
  const hook = (more, name) => () =>
    timeProcess([inHome("countersign-hook.cjs"), ...options, ...more], event(name), env);
  const port = await findFreePort();
  const serving = [inHome("countersign-hook.cjs"), "serve", "--port", String(port), ...options];
  const helper = spawn(process.execPath, serving, { env, stdio: "ignore" });
  const token = await readToken(inHome(`.countersign/run/token-${port}`));
  const sides = {
    "node -e 0": () => timeProcess(["-e", "0"], "", env),
    "a call that no pattern names": hook(["--ask", "Write"], "PreToolUse"),
    "a call that is recorded": hook(["--record"], "PostToolUse"),
    "a call under a standing approval": hook([], "PreToolUse"),
    "the same by a hook of type http": () =>
      timeHttp(`http://127.0.0.1:${port}/`, token, event("PreToolUse")),
    "the same by a hook of type http, of the service": () =>
      timeHttp(`${service.baseUrl}/v1/hook?agent=${agent}`, service.key, event("PreToolUse")),
  };
  const times = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
  const [, , , , ...withoutProcess] = Object.values(sides);
  try {
    for (let i = 0; i < earlier; i += 1) for (const time of withoutProcess) await time();
    // The first turns start the helper, and warm it.
    for (let turn = -3; turn < turns; turn += 1)
      for (const [side, time] of Object.entries(sides)) {
        await sleep(pauseMs);
        const ms = await time();
        if (turn >= 0) times[side].push(ms);
      }
  } finally {
    helper.kill();
    // Removing its program ends the other helper.
    await rm(home, { recursive: true });
  }
  const medians = Object.fromEntries(
    Object.entries(times).map(([side, all]) => [side, { medianMs: median(all) }]),
  );
  printSides("A coding agent's hook, median of 20", medians);
  const [{ medianMs: nothing }, ...others] = Object.values(medians);
  for (const [i, { medianMs }] of others.entries())
    printRatio(`hook: ${Object.keys(sides)[i + 1]}, against node -e 0`, medianMs / nothing, "less is better");
}
