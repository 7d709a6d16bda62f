/**
 * Cedar in this process: loaded when rules are first needed, with few sets of rules ready at a time. A text that drives it
 * out of its stack leaves its memory unusable, for every organization: such an instance is dropped, and the next call
 * loads another one.
 */
import { createRequire } from "node:module";
import { LRUCache } from "lru-cache";
import { hexEncode, sha256, utf8Encode } from "#lib/core/encoding/bytes";
import type { Cedar } from "#lib/core/rules/cedar";
import {
  evaluateStrictly,
  prepareRules,
  type RulesFallback,
  type RulesVerdict,
} from "#lib/core/rules/evaluate-rules";
import { type ParsedRules, parseRules, type RulesAnswer, tooInvolved } from "#lib/core/rules/parse-rules";
import type { RuleContext } from "#lib/core/rules/rule-context";

export interface Rules {
  organizationId: string;
  text: string;
  /** Of the text (rules-schema.ts). */
  hash: string;
}

export interface RulesEngine {
  parse(text: string, organizationId: string): Promise<RulesAnswer>;
  /** Rejects if the text doesn't parse: only texts that did are stored. */
  evaluate(rules: Rules, context: RuleContext, fallback: RulesFallback): Promise<RulesVerdict>;
}

const requireHere = createRequire(import.meta.url);
const cedarModule = "@cedar-policy/cedar-wasm/nodejs";

/** Its memory is the module's own, so another instance is the module loaded again. */
function loadCedar(): Cedar {
  delete requireHere.cache[requireHere.resolve(cedarModule)];
  return requireHere(cedarModule) as Cedar;
}

/** Each takes some 100 kB of Cedar's memory, which is never given back: names are used again. */
const maxReady = 64;

/** A request is evaluated twice, before its transaction and in it, mostly with the same context. */
const maxOutcomes = 256;

interface Ready {
  name: string;
  rules: ParsedRules;
}

const digestOf = (context: RuleContext) =>
  hexEncode(sha256(utf8Encode(JSON.stringify({ ...context, salt: null }))));

export function createRulesEngine(load: () => Cedar = loadCedar): RulesEngine {
  let instance: Cedar | null = null;
  const free: string[] = [];
  const ready = new LRUCache<string, Ready>({ max: maxReady, dispose: ({ name }) => free.push(name) });
  const outcomes = new LRUCache<string, RulesVerdict>({ max: maxOutcomes });
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

  function requireReady(cedar: Cedar, { hash, text }: Rules): Ready {
    const known = ready.get(hash);
    if (known !== undefined) return known;
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

  return {
    parse: async (text) => {
      try {
        return use((cedar) => parseRules(cedar, text));
      } catch {
        return { ok: false, problems: [tooInvolved] };
      }
    },
    evaluate: async (rules, context, fallback) => {
      const key = `${rules.hash} ${fallback} ${digestOf(context)}`;
      const known = outcomes.get(key);
      if (known !== undefined) return known;
      const outcome = use((cedar) => {
        const { name, rules: parsed } = requireReady(cedar, rules);
        return evaluateStrictly(cedar, name, parsed, context, fallback);
      });
      outcomes.set(key, outcome);
      return outcome;
    },
  };
}
