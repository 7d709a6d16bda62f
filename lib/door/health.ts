/**
 * Whether the database answers. One query serves all callers within half a second, because many may ask many times a second.
 * A silent database makes nobody wait longer than `patienceMs`.
 */
import type { Database } from "#lib/db/client";
import { AppError } from "#lib/errors";

/** How long an answer is repeated. */
const lifetimeMs = 500;

/** The embedded database is in this process: it cannot go away, and may be busy for a while. */
const patienceMs = { postgres: 1400, embedded: 10_000 } as const;

/** A query without an answer for this long is given up: otherwise one dead connection would answer for everyone. */
const hopelessMs = 30_000;

export interface HealthCheck {
  /** Rejects if the database does not answer. */
  check(): Promise<void>;
}

interface Question {
  askedMs: number;
  /** Null while there is no answer. */
  answeredMs: number | null;
  /** The database's answer, or the end of our patience. */
  answer: Promise<void>;
}

function waitFor(answer: Promise<unknown>, limitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new AppError("service_unavailable", "the database does not respond; try again shortly")),
      limitMs,
    );
    answer.then(() => resolve(), reject).finally(() => clearTimeout(timer));
  });
}

/** `clockMs` only ever goes forward. */
export function createHealthCheck(
  database: Pick<Database, "kind" | "query">,
  clockMs: () => number = () => performance.now(),
): HealthCheck {
  let last: Question | null = null;

  function ask(nowMs: number): Question {
    const asked = database.query("SELECT 1", []);
    const question: Question = {
      askedMs: nowMs,
      answeredMs: null,
      answer: waitFor(asked, patienceMs[database.kind]),
    };
    const note = () => {
      question.answeredMs = clockMs();
    };
    asked.then(note, note);
    // Nobody may still be waiting when it fails.
    question.answer.catch(() => {});
    return question;
  }

  function isStale({ askedMs, answeredMs }: Question, nowMs: number): boolean {
    return answeredMs === null ? nowMs - askedMs >= hopelessMs : nowMs - answeredMs >= lifetimeMs;
  }

  return {
    check: () => {
      const nowMs = clockMs();
      if (last === null || isStale(last, nowMs)) last = ask(nowMs);
      return last.answer;
    },
  };
}
