/**
 * Which connection a reading statement takes. Most share one: what is asked in a turn of the event loop then leaves in
 * one write, and the server answers it without going to sleep in between. A server's answers on a connection come in the
 * order of the questions, so when one keeps the others waiting, the next request takes another connection.
 */

/** Longer than any statement of the hot path that has its pages in memory. */
const patienceMs = 20;

export interface Sharing<Client> {
  /** For one statement, whose promise `use` returns. */
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
