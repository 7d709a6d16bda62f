/**
 * Reads that come at once share one statement: PostgreSQL spends twice as long on beginning and ending a plan of fifteen
 * joins as on running it for one row. While a statement is on its way, callers with the same text wait until it has ended;
 * then one statement asks for all of them, with those whose requests are read in the same turn of the event loop, and
 * callers with the same parameters share its rows. No caller joins a statement that was already sent, because it may see
 * an older state: each sees everything that was committed when it asked.
 */
import type { Database, Statement } from "#lib/db/client";
import { isRefusedByServer } from "./failures";

/** Longer than any statement of the hot path takes. Callers that come later don't wait for a slower one. */
const patienceMs = 20;
/** A statement asks no more questions than this, so that it stays short. */
const maxQuestions = 32;

type Rows = object[];
type Ask = (text: string, parameters: unknown[]) => Promise<Rows>;

interface Question {
  parameters: unknown[];
  rows: Promise<Rows>;
  settle: (rows: Promise<Rows> | Rows) => void;
}

function createQuestion(parameters: unknown[]): Question {
  let settle: Question["settle"] = () => {};
  const rows = new Promise<Rows>((resolve) => {
    settle = resolve;
  });
  return { parameters, rows, settle };
}

/** `types` are those of the text's parameters, which become columns. `asked_by` numbers the questions from 1. */
function writeBatch(text: string, types: readonly string[]): string {
  const lists = types.map((type, i) => `$${i + 1}::${type}[]`).join(", ");
  const columns = types.map((_, i) => `p${i + 1}`).join(", ");
  return `SELECT asked.number::int AS asked_by, answer.*
    FROM unnest(${lists}) WITH ORDINALITY AS asked(${columns}, number)
    CROSS JOIN LATERAL (${text.replaceAll(/\$(\d+)/g, "asked.p$1")} OFFSET 0) AS answer`;
}

/** `ask` sends a statement, and rejects if it can't; `types` are those of its parameters, none of them a list. */
export function createBatchedRead(
  text: string,
  types: readonly string[],
  ask: Ask,
  now: () => number = () => performance.now(),
): (parameters: unknown[]) => Promise<Rows> {
  const forMany = writeBatch(text, types);
  const waiting = new Map<string, Question>();
  let underway: { sinceMs: number } | null = null;

  async function askAlone({ parameters, rows, settle }: Question): Promise<void> {
    settle(ask(text, parameters));
    await rows.catch(() => {});
  }

  async function askTogether(questions: Question[]): Promise<void> {
    const columns = types.map((_, i) => questions.map(({ parameters }) => parameters[i]));
    const answer = ask(forMany, columns) as Promise<{ asked_by: number }[]>;
    try {
      const answers: Rows[] = questions.map(() => []);
      for (const row of await answer) answers[row.asked_by - 1]?.push(row);
      for (const [i, { settle }] of questions.entries()) settle(answers[i] ?? []);
    } catch (error) {
      // The server may refuse a single question: the others must not fail with it.
      if (isRefusedByServer(error)) await Promise.all(questions.map(askAlone));
      else for (const { settle } of questions) settle(Promise.reject(error));
    }
  }

  /** Sends every waiting question, so that each one's time limit begins now. */
  function send(): void {
    const questions = [...waiting.values()];
    waiting.clear();
    const sent = { sinceMs: now() };
    underway = sent;
    const asked: Promise<void>[] = [];
    while (questions.length > 0) {
      const [first, ...others] = questions.splice(0, maxQuestions);
      if (first) asked.push(others.length === 0 ? askAlone(first) : askTogether([first, ...others]));
    }
    const sendNext = () => {
      if (underway !== sent) return;
      underway = null;
      if (waiting.size > 0) send();
    };
    void Promise.all(asked).then(() => setImmediate(sendNext));
  }

  return (parameters) => {
    const name = JSON.stringify(parameters);
    const question = waiting.get(name) ?? createQuestion(parameters);
    waiting.set(name, question);
    if (underway === null || now() - underway.sinceMs > patienceMs) send();
    return question.rows;
  };
}

export function withBatchedReads(database: Omit<Database, "batched">): Database {
  const known = new Map<string, ReturnType<typeof createBatchedRead>>();
  const ask: Ask = async (text, parameters) => database.statement(text)(...parameters);
  return Object.assign(database, {
    batched: <Row extends object>(text: string, types: readonly string[]): Statement<Row> => {
      const read = known.get(text) ?? createBatchedRead(text, types, ask);
      known.set(text, read);
      return (...parameters) => read(parameters) as Promise<Row[]>;
    },
  });
}

/*
 * Chooses a connection for a reading statement. Most share one: the queries of a turn of the event loop then leave in one
 * write, and the server answers them without going to sleep in between. A server answers a connection's queries in order, so
 * while one keeps the others waiting, the next request takes another connection.
 */

export interface Sharing<Client> {
  run<Rows>(use: (client: Client) => Promise<Rows>): Promise<Rows>;
}

/** `others`: a pool for when the shared connection has given no answer for too long. */
export function shareConnection<Client>(
  shared: Client,
  others: Client,
  now: () => number = () => performance.now(),
): Sharing<Client> {
  let waiting = 0;
  let movedMs = 0;
  const settle = () => {
    waiting -= 1;
    movedMs = now();
  };
  return {
    run(use) {
      if (waiting > 0 && now() - movedMs > patienceMs) return use(others);
      if (waiting === 0) movedMs = now();
      waiting += 1;
      const answer = use(shared);
      answer.then(settle, settle);
      return answer;
    },
  };
}
