/**
 * Cedar in processes of their own (./rules-process.ts): its WebAssembly has ended whole processes, and what an evaluation takes
 * is the rules' matter. One process evaluates for requests; another one parses and compares, which never holds up a
 * request. An engine that can't answer is a 503: it allows nothing.
 */
import { createRequire } from "node:module";
import path from "node:path";
import { LRUCache } from "lru-cache";
import { AppError } from "#lib/errors";
import { inTime } from "#lib/in-time";
import { ChildEndedError, type ChildOptions, ChildOverdueError, createChild } from "#lib/jobs/child-process";
import { createFairQueue, createShare } from "#lib/jobs/fair-queue";
import type { Logger } from "#lib/logger";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { Cedar } from "#lib/protocol/policy/cedar";
import {
  evaluateStrictly,
  prepareStrictly,
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
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import type { AccountsContext } from "#lib/services/accounts/context";

/*
 * Cedar, with few sets of rules ready at a time. A text that drives it out of its stack leaves its memory unusable, for
 * every organization: such an instance is dropped, and the next call loads another one.
 */

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

/** Loads the module again for another instance: its memory is the module's own. */
function loadCedar(): Cedar {
  delete requireHere.cache[requireHere.resolve(cedarModule)];
  return requireHere(cedarModule) as Cedar;
}

/** Limit on names, each of which takes some 100 kB of Cedar's memory that is never given back: names are used again. */
const maxReady = 64;

/** Milliseconds that one task evaluates before others get their turn. */
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
    prepareStrictly(cedar, name, answer.rules);
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

export interface Rules {
  organizationId: string;
  text: string;
  hash: string;
}

export interface RulesEngine {
  parse(text: string, organizationId: string): Promise<RulesAnswer>;
  /**
   * Rejects if the text doesn't parse: only texts that did are stored. `patienceMs`: rejects with
   * {@link RulesOverdueError} after this time; the evaluation goes on, and its outcome is remembered.
   */
  evaluate(
    rules: Rules,
    context: RuleContext,
    fallback: RulesFallback,
    patienceMs?: number,
  ): Promise<RulesVerdict>;
  /** Many contexts, for comparisons: by turns with others' work. */
  compare(rules: Rules, contexts: readonly RuleContext[], fallback: RulesFallback): Promise<RulesVerdict[]>;
  close(): void;
}

export interface RulesContext extends AccountsContext {
  rules: RulesEngine;
  worldId: { environment: WorldEnvironment };
}

const unavailable = (detail: string, cause?: unknown) =>
  new AppError("service_unavailable", detail, { headers: { "retry-after": "2" }, cause });

export class RulesOverdueError extends AppError {
  constructor() {
    super("service_unavailable", "the organization's rules took too long to evaluate; try again");
  }
}

/** A request is mostly evaluated twice over the same context: before its transaction and in it. */
const maxOutcomes = 256;

const digestContext = (context: RuleContext) =>
  hexEncode(sha256(utf8Encode(JSON.stringify({ ...context, salt: null }))));

export interface EngineOptions extends Partial<Pick<ChildOptions, "program" | "onStart">> {
  logger: Pick<Logger, "error">;
  /** The slowest that the limits allow takes a twentieth of it. */
  taskMs?: number;
  startMs?: number;
  maxWaiting?: number;
}

type Run = (organizationId: string, task: RulesTask) => Promise<RulesResult>;

function createLane({ logger, ...options }: EngineOptions): { run: Run; close(): void } {
  const {
    taskMs = 10_000,
    startMs = 20_000,
    maxWaiting = 256,
    program = path.resolve("dist/rules-process.mjs"),
  } = options;
  const child = createChild({ ...options, program, startMs, idleMs: 600_000 });
  const refusal = "too many rules are being evaluated right now; try again";
  const queue = createFairQueue({ slots: 1, maxWaiting, maxPerOwner: Math.ceil(maxWaiting / 2), refusal });

  /** Retries once if the process ended: whose fault that was is not known. */
  async function attempt(task: RulesTask, isLast = false): Promise<RulesResult> {
    try {
      return (await child.run(task, taskMs)) as RulesResult;
    } catch (cause) {
      logger.error({ err: cause }, "the process that evaluates rules has ended and is replaced");
      if (cause instanceof ChildOverdueError)
        throw unavailable("the rules took too long to evaluate; try again, or make them simpler", cause);
      if (!isLast && cause instanceof ChildEndedError) return attempt(task, true);
      throw unavailable("the process that evaluates rules has ended; try again", cause);
    }
  }

  return {
    close: child.close,
    async run(organizationId, task) {
      const sinceMs = performance.now();
      const result = await queue.run(createShare("approval", { organization: organizationId }), async () => {
        if (performance.now() - sinceMs > startMs + taskMs) throw unavailable(refusal);
        return attempt(task);
      });
      if (!("failure" in result)) return result;
      logger.error({ reason: result.failure }, "rules could not be evaluated");
      throw unavailable("the rules could not be evaluated; try again, or make them simpler");
    },
  };
}

async function evaluateFirst(
  run: Run,
  { organizationId, hash, text }: Rules,
  contexts: readonly RuleContext[],
  fallback: RulesFallback,
): Promise<RulesVerdict[]> {
  const task = { hash, contexts, fallback };
  const first = await run(organizationId, task);
  const result = "needsText" in first ? await run(organizationId, { ...task, text }) : first;
  if (!("outcomes" in result) || result.outcomes.length === 0)
    throw new TypeError("rules without an outcome");
  return result.outcomes;
}

/** Contexts that are sent at once; each may have 35 kB. */
const maxSent = 16;

export function createRulesEngine(options: EngineOptions): RulesEngine {
  const requests = createLane(options);
  const comparisons = createLane(options);
  const outcomes = new LRUCache<string, RulesVerdict>({ max: maxOutcomes });

  return {
    async parse(text, organizationId) {
      const result = await comparisons.run(organizationId, { text });
      if (!("parsed" in result)) throw new TypeError("rules that were neither parsed nor refused");
      return result.parsed;
    },
    async evaluate(rules, context, fallback, patienceMs) {
      const key = `${rules.hash} ${fallback} ${digestContext(context)}`;
      const known = outcomes.get(key);
      if (known !== undefined) return known;
      const evaluating = evaluateFirst(requests.run, rules, [context], fallback).then(([outcome]) => {
        if (outcome === undefined) throw new TypeError("rules without an outcome");
        outcomes.set(key, outcome);
        return outcome;
      });
      return patienceMs === undefined
        ? evaluating
        : inTime(evaluating, patienceMs, () => new RulesOverdueError());
    },
    async compare(rules, contexts, fallback) {
      const made: RulesVerdict[] = [];
      while (made.length < contexts.length) {
        const next = contexts.slice(made.length, made.length + maxSent);
        made.push(...(await evaluateFirst(comparisons.run, rules, next, fallback)));
      }
      return made;
    },
    close() {
      requests.close();
      comparisons.close();
    },
  };
}
