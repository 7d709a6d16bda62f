/** `rules try`: what rules would have said about the calls of a transcript. Nothing is sent but for reading the rules. */
import { send } from "#lib/client/api/transport";
import { showInputs } from "#lib/client/gate/shown-inputs";
import { writeTypes } from "#lib/protocol/approval/shown-content";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { Cedar } from "#lib/protocol/policy/cedar";
import { evaluateStrictly, prepareStrictly, type RulesFallback } from "#lib/protocol/policy/evaluate-rules";
import { parseRules } from "#lib/protocol/policy/parse-rules";
import { type RuleContext, readHours } from "#lib/protocol/policy/rule-context";
import { rulesTemplates } from "#lib/protocol/policy/templates";
import { describeToolCall } from "#lib/protocol/record/title";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { loadCedar } from "#lib/verifier/cli/run-replay";
import { type Command, connect, readText } from "./io";
import type { CommandSpec } from "./spec";

interface TranscriptCall {
  tool: string;
  input: JsonValue;
  /** Null if the transcript doesn't say. */
  at: Date | null;
}

const readTime = (value: unknown): Date | null => {
  const at = new Date(typeof value === "string" ? value : Number.NaN);
  return Number.isNaN(at.getTime()) ? null : at;
};

function parseOr(text: unknown, otherwise: JsonValue): JsonValue {
  try {
    return typeof text === "string" ? (JSON.parse(text) as JsonValue) : otherwise;
  } catch {
    return text as string;
  }
}

/** Claude Code: calls are parts of the assistant's messages. */
function readClaude({ message, timestamp }: JsonObject): TranscriptCall[] {
  const content = isJsonObject(message) ? message["content"] : null;
  const parts = Array.isArray(content) ? content.filter(isJsonObject) : [];
  return parts
    .filter(({ type, name }) => type === "tool_use" && typeof name === "string")
    .map(({ name, input }) => ({ tool: String(name), input: input ?? {}, at: readTime(timestamp) }));
}

/** Codex: items of a rollout, whose shell call has no name and whose other calls have arguments as text. */
function readCodex({ payload, timestamp }: JsonObject): TranscriptCall[] {
  if (!isJsonObject(payload)) return [];
  const at = readTime(timestamp);
  const { type, name, arguments: text, input, action } = payload;
  if (type === "local_shell_call") return [{ tool: "shell", input: action ?? {}, at }];
  if (typeof name !== "string") return [];
  if (type === "function_call") return [{ tool: name, input: parseOr(text, {}), at }];
  return type === "custom_tool_call" ? [{ tool: name, input: { input: input ?? "" }, at }] : [];
}

const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** OTLP in JSON: spans of the GenAI conventions' execute_tool. */
function readSpans(json: JsonObject): TranscriptCall[] {
  const spans = listOf(json["resourceSpans"])
    .flatMap(({ scopeSpans }) => listOf(scopeSpans))
    .flatMap((scope) => listOf(scope["spans"]));
  return spans.flatMap((span) => {
    const attributes = new Map(
      listOf(span["attributes"]).map(({ key, value }) => [
        String(key),
        isJsonObject(value) ? value["stringValue"] : null,
      ]),
    );
    const tool = attributes.get("gen_ai.tool.name");
    if (typeof tool !== "string") return [];
    const nanos = Number(span["startTimeUnixNano"]);
    const at = Number.isFinite(nanos) && nanos > 0 ? new Date(nanos / 1e6) : null;
    return [{ tool, input: parseOr(attributes.get("gen_ai.tool.call.arguments"), {}), at }];
  });
}

/** A line that is no JSON is a broken end of a session that was killed. */
export function readTranscript(text: string): TranscriptCall[] {
  const whole = parseOr(text, null);
  const lines = isJsonObject(whole) ? [whole] : text.split("\n").map((line) => parseOr(line, null));
  return lines
    .filter(isJsonObject)
    .flatMap((line) => [...readClaude(line), ...readCodex(line), ...readSpans(line)]);
}

interface ChosenRules {
  text: string;
  fallback: RulesFallback;
  from: string;
}

async function chooseRules(command: Command): Promise<ChosenRules> {
  const { io, line } = command;
  const [file, template] = [single(line, "rules"), single(line, "template")];
  if (file !== undefined) return { text: await readText(io, file), fallback: "ask", from: file };
  if (template !== undefined) {
    const found = rulesTemplates[Number(template) - 1];
    if (found === undefined) throw new UsageError(`--template: 1 to ${rulesTemplates.length}`);
    return { text: found.text, fallback: "ask", from: `the template “${found.title}”` };
  }
  const { rules } = (await send(connect(command), { method: "GET", path: "/v1/rules" })) as {
    rules: { text: string; fallback: RulesFallback; version: number } | null;
  };
  if (rules === null)
    throw new UsageError("your organization has no rules yet: try --rules FILE or --template N");
  return {
    text: rules.text,
    fallback: rules.fallback,
    from: `version ${rules.version} of your organization`,
  };
}

function describeCall(
  { input, at }: TranscriptCall & { at: Date },
  { tool, action }: Pick<RuleContext, "tool" | "action">,
  agent: string,
  uses: number,
): RuleContext {
  const { context, details } = showInputs(input, {});
  return {
    salt: "",
    agent: { slug: agent, name: null, key_registered: false, code_hash_known: false },
    tool,
    action,
    amount: null,
    context,
    details: { complete: details.complete, types: writeTypes(context, details.types ?? {}) },
    requester: null,
    ...readHours(at),
    uses_today: uses,
    environment: "production",
  };
}

const words = { allow: "allowed", ask: "asked", deny: "denied" } as const;
type Word = (typeof words)[keyof typeof words];

interface Tried {
  tool: string;
  title: string;
  would: Word;
  policy_ids: string[];
}

function tryCalls(
  cedar: Cedar,
  rules: ChosenRules,
  calls: readonly TranscriptCall[],
  agent: string,
  now: Date,
): Tried[] {
  const parsed = parseRules(cedar, rules.text);
  if (!parsed.ok) throw new UsageError(`these rules don't validate: ${parsed.problems[0]?.message}`);
  prepareStrictly(cedar, "try", parsed.rules);
  let uses = 0;
  return calls.map((call): Tried => {
    const shown = { tool: call.tool, title: "" };
    try {
      const { title = "", ...named } = describeToolCall(call.tool, call.input);
      shown.title = title;
      const context = describeCall({ ...call, at: call.at ?? now }, named, agent, uses);
      const found = evaluateStrictly(cedar, "try", parsed.rules, context, rules.fallback);
      const isHidden = found.forbidsDetails && context.details?.complete === false;
      const decision = found.decision === "allow" && isHidden ? "ask" : found.decision;
      if (decision === "allow") uses += 1;
      return { ...shown, would: words[decision], policy_ids: found.policy_ids };
    } catch {
      // Arguments that can't be shown are never asked about: the gate denies.
      return { ...shown, would: "denied", policy_ids: [] };
    }
  });
}

function format(tried: readonly Tried[], { from }: ChosenRules): string {
  const count = (word: Word) => tried.filter(({ would }) => would === word).length;
  const lines = tried.map(
    ({ would, tool, title, policy_ids: ids }) =>
      `  ${would.padEnd(7)}  ${toVisibleText(title === "" ? tool : `${tool}: ${title}`)}${ids.length === 0 ? "" : `  (${ids.join(", ")})`}`,
  );
  return `${lines.join("\n")}\n\n${formatCount(tried.length, "call")}, judged by ${toVisibleText(from)}: ${count("allowed")} allowed without asking, ${count("asked")} asked, ${count("denied")} denied.\nAmounts, names of who asks and a registered key aren't in a transcript; counts of the day begin with it.\n`;
}

async function runRules(command: Command): Promise<void> {
  const { io, line, words: given } = command;
  const [verb, file, ...more] = given;
  if (verb !== "try" || file === undefined || more.length > 0)
    throw new UsageError("rules try needs one transcript");
  const folder = single(line, "cedar");
  if (folder === undefined)
    throw new UsageError(
      "rules try needs --cedar FOLDER: a copy of the npm package @cedar-policy/cedar-wasm",
    );
  const calls = readTranscript(await readText(io, file));
  if (calls.length === 0) throw new UsageError(`${file}: no calls of tools in it`);
  const rules = await chooseRules(command);
  const agent = single(line, "agent") ?? "agent";
  const now = new Date(io.nowSeconds() * 1_000);
  const tried = tryCalls(await loadCedar(io, folder), rules, calls, agent, now);
  io.print(
    line.flags.has("json")
      ? `${JSON.stringify({ rules: rules.from, calls: tried })}\n`
      : format(tried, rules),
  );
}

export const rulesSpec: CommandSpec = { run: runRules, options: ["rules", "template", "cedar", "agent"] };
