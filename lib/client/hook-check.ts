/**
 * `countersign hook install --check`: an agent is asked to run a command that the hook always blocks. Agents skip hooks
 * that they don't trust, that are switched off, or that they read differently, and say nothing.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/core/encoding/canonical-json";
import { parseStrictJson } from "#lib/core/encoding/strict-json";
import { single } from "#lib/core/text/command-words";
import { toVisibleText } from "#lib/core/text/display-text";
import { type Command, readText, requireWords } from "./command-io";
import { CountersignError } from "./errors";
import { readTimeout } from "./hook-call";
import { type Answer, readDialectName } from "./hook-dialects";
import { listTexts } from "./hook-match";
import { settingsOf } from "./hook-settings";
import { type Service, send } from "./transport";

const checkFolder = /\/tmp\/countersign-check-[0-9a-f]{32}(?=\/ran)/;
const pollMs = 250;
/** Until a call that was not blocked after all has surely run. */
const settleMs = 2_000;
const serviceTimeoutMs = 10_000;

/** The folder of the check that a call belongs to; undefined if it is a real call. */
export const findCheck = (input: JsonValue): string | undefined =>
  listTexts(input).flatMap((text) => checkFolder.exec(text)?.[0] ?? [])[0];

/** The call is blocked, and the waiting check learns whether a real one could have asked. */
export async function answerCheck(
  command: Command,
  openService: () => Promise<Service>,
  folder: string,
): Promise<Answer> {
  const found = await readKeyInfo(openService).catch((error: unknown) => ({
    problem: error instanceof Error ? error.message : String(error),
  }));
  await command.io.machine.createFile(`${folder}/blocked`, JSON.stringify(found));
  return { permission: "deny", reason: "This is the check of Countersign's hook. The hook is live." };
}

async function readKeyInfo(openService: () => Promise<Service>): Promise<JsonObject> {
  const signal = AbortSignal.timeout(serviceTimeoutMs);
  return send(await openService(), { method: "GET", path: "/v1/keys/info", signal, tries: 1 });
}

export async function checkHook(command: Command): Promise<void> {
  requireWords({ ...command, words: command.words.slice(1) });
  const { io, line } = command;
  const { name } = settingsOf(readDialectName(single(line, "dialect")));
  const folder = `/tmp/countersign-check-${io.machine.randomHex(16)}`;
  await io.machine.makeSharedFolder(folder);
  try {
    io.print(`Ask ${name} to run exactly this command in its shell:\n\n  touch ${folder}/ran\n\nWaiting …\n`);
    await waitForBlock(command, folder);
    io.print(`The hook is live: it blocked the call, and ${name} did not run it.\n`);
    sayWhatKeyCan(command, parseStrictJson(await readText(io, `${folder}/blocked`)));
  } finally {
    await io.machine.remove(folder);
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function waitForBlock(command: Command, folder: string): Promise<void> {
  const { isFile } = command.io;
  const [ran, blocked] = [`${folder}/ran`, `${folder}/blocked`];
  const seconds = readTimeout(command);
  for (let waitedMs = 0; !(await isFile(blocked)); waitedMs += pollMs) {
    if (await isFile(ran))
      throw new CountersignError("NOT live: the command ran, and no hook was asked. Nothing is blocked.");
    if (waitedMs > seconds * 1_000)
      throw new CountersignError(`Not proven: no such call came within ${seconds} seconds.`);
    await sleep(pollMs);
  }
  await sleep(settleMs);
  if (await isFile(ran))
    throw new CountersignError(
      "NOT live: the hook said no, and the command ran all the same. Is --dialect right?",
    );
}

function sayWhatKeyCan({ io }: Command, found: JsonValue): void {
  const { scopes, problem } = isJsonObject(found) ? found : {};
  if (!Array.isArray(scopes))
    throw new CountersignError(`But a real call could not ask a human, and is blocked: ${String(problem)}`);
  const more = scopes.filter((scope) => scope !== "hook");
  if (more.length > 0)
    io.tell(
      `Warning: the hook's key can do more than it needs (${toVisibleText(more.join(", "))}). Give it one with the scope hook alone.\n`,
    );
}
