/**
 * Cedar, with few sets of rules ready at a time. A text that drives it out of its stack leaves its memory unusable, for
 * every organization: such an instance is dropped, and the next call loads another one.
 */
import { createRequire } from "node:module";
import { LRUCache } from "lru-cache";
import type { Cedar } from "#lib/protocol/policy/cedar";
import {
  evaluateStrictly,
  prepareRules,
  type RulesFallback,
  type RulesVerdict,
} from "#lib/protocol/policy/evaluate-rules";
import {
  type ParsedRules,
  parseRules,
  type RulesAnswer,
  tooInvolved,
} from "#lib/protocol/policy/parse-rules";
import type { RuleContext } from "#lib/protocol/policy/rule-context";

export type RulesTask =
  | { text: string }
  /** `text`: if the process has not had it yet. */
  | { hash: string; text?: string; contexts: readonly RuleContext[]; fallback: RulesFallback };

export type RulesResult =
  | { parsed: RulesAnswer }
  /** Outcomes of the first contexts, at least one: the others are for another task. */
  | { outcomes: RulesVerdict[] }
  | { needsText: true }
  | { failure: string };

const requireHere = createRequire(import.meta.url);
const cedarModule = "@cedar-policy/cedar-wasm/nodejs";

/** Its memory is the module's own, so another instance is the module loaded again. */
function loadCedar(): Cedar {
  delete requireHere.cache[requireHere.resolve(cedarModule)];
  return requireHere(cedarModule) as Cedar;
}

/** Each takes some 100 kB of Cedar's memory, which is never given back: names are used again. */
const maxReady = 64;

/** How long one task evaluates before others get their turn. */
const turnMs = 20;

interface Ready {
  name: string;
  rules: ParsedRules;
}

export function createEvaluator(load: () => Cedar = loadCedar): (task: RulesTask) => RulesResult {
  let instance: Cedar | null = load();
  const free: string[] = [];
  const ready = new LRUCache<string, Ready>({ max: maxReady, dispose: ({ name }) => free.push(name) });
  let names = 0;

  function use<Value>(work: (cedar: Cedar) => Value): Value {
    instance ??= load();
    try {
      return work(instance);
    } catch (error) {
      instance = null;
      ready.clear();
      throw error;
    }
  }

  function prepare(cedar: Cedar, hash: string, text: string): Ready {
    const answer = parseRules(cedar, text);
    if (!answer.ok) throw new Error(`stored rules do not parse: ${answer.problems[0]?.message}`);
    if (free.length === 0) {
      names += 1;
      free.push(`rules-${names}`);
    }
    const name = free.pop() as string;
    prepareRules(cedar, name, answer.rules);
    const made = { name, rules: answer.rules };
    ready.set(hash, made);
    return made;
  }

  function parse(text: string): RulesAnswer {
    try {
      return use((cedar) => parseRules(cedar, text));
    } catch {
      return { ok: false, problems: [tooInvolved] };
    }
  }

  return (task) => {
    if (!("hash" in task)) return { parsed: parse(task.text) };
    const { hash, text, contexts, fallback } = task;
    if (text === undefined && !ready.has(hash)) return { needsText: true };
    try {
      const outcomes = use((cedar) => {
        const { name, rules } = ready.get(hash) ?? prepare(cedar, hash, text ?? "");
        const untilMs = performance.now() + turnMs;
        const made: RulesVerdict[] = [];
        for (const context of contexts) {
          made.push(evaluateStrictly(cedar, name, rules, context, fallback));
          if (performance.now() >= untilMs) break;
        }
        return made;
      });
      return { outcomes };
    } catch (error) {
      return { failure: String(error) };
    }
  };
}
