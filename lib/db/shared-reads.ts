/**
 * One answer for all who ask the same at once. A statement that was sent may see the database as it was before the next
 * one asks, so nobody joins it: whoever asks the same meanwhile waits until it has ended, and all of them get the answer
 * of the one statement that is sent then. However many ask, each sees everything that was committed before it asked.
 */

/** Longer than any statement of the hot path. Nobody who comes later waits for one that is slower. */
const patienceMs = 20;

interface Sent {
  sinceMs: number;
  hasEnded: Promise<void>;
  /** The statement for those who came since; null while there is nobody. */
  next: Promise<unknown> | null;
}

/** Of one statement, by its parameters. */
class SharedRead {
  readonly #sent = new Map<string, Sent>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  run<Answer>(parameters: unknown[], ask: () => Promise<Answer>): Promise<Answer> {
    const question = JSON.stringify(parameters);
    const sent = this.#sent.get(question);
    if (sent === undefined || this.#now() - sent.sinceMs > patienceMs) return this.#send(question, ask);
    sent.next ??= sent.hasEnded.then(() => this.#send(question, ask));
    return sent.next as Promise<Answer>;
  }

  #send<Answer>(question: string, ask: () => Promise<Answer>): Promise<Answer> {
    const answer = ask();
    const end = () => {
      if (sent.next === null && this.#sent.get(question) === sent) this.#sent.delete(question);
    };
    const sent: Sent = { sinceMs: this.#now(), hasEnded: answer.then(end, end), next: null };
    this.#sent.set(question, sent);
    return answer;
  }
}

/** The reads of a database. Parameters are what JSON can tell apart. */
export function createSharedReads(now: () => number = () => performance.now()) {
  const byText = new Map<string, SharedRead>();
  return (text: string): SharedRead => {
    const known = byText.get(text) ?? new SharedRead(now);
    byText.set(text, known);
    return known;
  };
}
