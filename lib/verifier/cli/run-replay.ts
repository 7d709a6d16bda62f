/** `replay`: what rules said about a request, evaluated again offline, with the user's own copy of Cedar. */
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { Cedar } from "#lib/protocol/policy/cedar";
import { type ReplayCheck, replayDecision } from "#lib/protocol/policy/replay";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { readObject, UnreadableError } from "#lib/verifier/checks/evidence";
import { readReplayed, readRulesVersion } from "#lib/verifier/pack/ruled";
import { type Arguments, decode } from "./arguments";
import { type CommandIo, printJson } from "./io";

async function readJsonFile(io: CommandIo, file: string): Promise<JsonObject> {
  return readObject(decode(await io.readFile(file), file));
}

export async function loadCedar(io: CommandIo, folder: string): Promise<Cedar> {
  const cedar = (await io.loadCedar?.(folder).catch(() => undefined)) as Cedar | undefined;
  if (cedar === undefined)
    throw new UnreadableError(`--cedar: no copy of @cedar-policy/cedar-wasm in ${folder}`);
  return cedar;
}

const signs: Record<ReplayCheck["status"], string> = { pass: "ok  ", fail: "FAIL", skip: "-   " };

export async function runReplay(args: Arguments, io: CommandIo): Promise<number> {
  const [rulesFile, folder] = [single(args, "rules"), single(args, "cedar")];
  if (rulesFile === undefined || folder === undefined)
    throw new UsageError("replay needs --rules and --cedar");
  const decision = readReplayed(await readJsonFile(io, args.target));
  const version = readRulesVersion(await readJsonFile(io, rulesFile));
  const cedar = await loadCedar(io, folder);
  const checks = replayDecision(cedar, decision, version);
  const isSame = checks.every(({ status }) => status !== "fail");
  if (args.flags.has("json"))
    printJson(io, { kind: "replay", verdict: isSame ? "same" : "different", checks });
  else {
    const lines = checks.map(
      ({ name, status, detail }) => `${signs[status]} ${name}: ${toVisibleText(detail)}`,
    );
    const end = isSame ? "The same comes out." : "Something else comes out.";
    const note = "Signature and log are not looked at here: verify the human_authorization too.";
    io.print(`${lines.join("\n")}\n\n${end} ${note}\n`);
  }
  return isSame ? 0 : 1;
}
