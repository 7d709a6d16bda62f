/**
 * Health of the service: the database answers, and the service could do its work now. Each question is asked once for
 * all callers while its answer is fresh, because many may ask many times a second. A silent database makes no caller
 * wait longer than `patienceMs`.
 */
import type { Database } from "#lib/db/client";
import { AppError } from "#lib/errors";
import { inTime } from "#lib/in-time";

/** Milliseconds for which an answer is repeated. */
const lifetimeMs = { reach: 500, ready: 5_000 } as const;

/** The embedded database is in this process: it cannot go away, and may be busy for a while. */
const patienceMs = { postgres: 1400, embedded: 10_000 } as const;

/** A query without an answer for this long is given up: otherwise one dead connection would answer for everyone. */
const hopelessMs = 30_000;

export interface HealthCheck {
  /** Rejects if the database does not answer, or `tryAll` fails. */
  check(): Promise<void>;
}

interface Question {
  askedMs: number;
  answeredMs: number | null;
  answer: Promise<unknown>;
}

const silent = () => new AppError("service_unavailable", "the database does not respond; try again shortly");

interface Asking {
  ask: () => Promise<unknown>;
  lifetimeMs: number;
  patienceMs: number;
  clockMs: () => number;
}

function shareQuestion({ ask, clockMs, ...limits }: Asking): () => Promise<unknown> {
  let last: Question | null = null;

  function begin(nowMs: number): Question {
    const asked = ask();
    const question: Question = {
      askedMs: nowMs,
      answeredMs: null,
      answer: inTime(asked, limits.patienceMs, silent),
    };
    const note = () => {
      question.answeredMs = clockMs();
    };
    asked.then(note, note);
    // Avoids an unhandled rejection: the caller may have gone when it fails.
    question.answer.catch(() => {});
    return question;
  }

  function isStale({ askedMs, answeredMs }: Question, nowMs: number): boolean {
    return answeredMs === null ? nowMs - askedMs >= hopelessMs : nowMs - answeredMs >= limits.lifetimeMs;
  }

  return () => {
    const nowMs = clockMs();
    if (last === null || isStale(last, nowMs)) last = begin(nowMs);
    return last.answer;
  };
}

/** `tryAll` costs more than a question. `clockMs` only ever goes forward. */
export function createHealthCheck(
  database: Pick<Database, "kind" | "query">,
  tryAll: () => Promise<void>,
  clockMs: () => number = () => performance.now(),
): HealthCheck {
  const common = { patienceMs: patienceMs[database.kind], clockMs };
  const reach = shareQuestion({
    ...common,
    ask: () => database.query("SELECT 1", []),
    lifetimeMs: lifetimeMs.reach,
  });
  const ready = shareQuestion({ ...common, ask: tryAll, lifetimeMs: lifetimeMs.ready });
  return {
    check: async () => {
      await reach();
      await ready();
    },
  };
}
