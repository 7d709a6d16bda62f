/** `replay`: what rules said about a request, evaluated again offline, with the user's own copy of Cedar. */
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { Cedar } from "#lib/protocol/policy/cedar";
import {
  type ReplayCheck,
  type ReplayedDecision,
  type ReplayedRules,
  replayDecision,
} from "#lib/protocol/policy/replay";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { readObject, requireText, UnreadableError } from "#lib/verifier/checks/evidence";
import { type Arguments, decode } from "./arguments";
import { type CommandIo, printJson } from "./io";

async function readJsonFile(io: CommandIo, file: string): Promise<JsonObject> {
  return readObject(decode(await io.readFile(file), file));
}

const objectOrNull = (value: unknown) => (isJsonObject(value) ? value : null);

export function readReplayed(json: JsonObject): ReplayedDecision {
  const { rules, amount } = json;
  if (!isJsonObject(rules))
    throw new UnreadableError("the decision has no rules: save it with the owner's key, if rules were on");
  const { context, policy_ids } = rules;
  if (!isJsonObject(context) || !isJsonObject(context["agent"]) || !Array.isArray(policy_ids))
    throw new UnreadableError("rules: what they were evaluated over is missing or erased");
  for (const name of ["ruleset_hash", "context_hash", "decision", "reason"]) requireText(rules, name);
  return {
    agent_slug: requireText(json, "agent_slug"),
    action: requireText(json, "action"),
    tool: typeof json["tool"] === "string" ? json["tool"] : null,
    amount: objectOrNull(amount) as ReplayedDecision["amount"],
    created_at: requireText(json, "created_at"),
    decided_by: objectOrNull(json["decided_by"]),
    human_authorization: objectOrNull(json["human_authorization"]),
    rules: rules as unknown as ReplayedDecision["rules"],
  };
}

export function readRulesVersion(json: JsonObject): ReplayedRules {
  const version = objectOrNull(json["rules"]) ?? json;
  const fallback = requireText(version, "fallback");
  if (fallback !== "ask" && fallback !== "deny") throw new UnreadableError("fallback: expected ask or deny");
  return { text: requireText(version, "text"), fallback };
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
