/** Requires that an action has run when it is attested. Imports nothing: each file for a framework has a copy. */

const lazy = "the action is a generator: it runs when it is read, so it would be attested before it ran";

export function requireFunction(run: unknown): void {
  if (typeof run !== "function") throw new TypeError("the action is no function");
  if (/Generator/.test(Object.prototype.toString.call(run))) throw new TypeError(lazy);
}

/** Rejects a lazy result of a function that didn't look lazy. */
export function requireRun<Result>(result: Result): Result {
  const { next, throw: raise } = (result ?? {}) as { next?: unknown; throw?: unknown };
  if (typeof next === "function" && typeof raise === "function") throw new TypeError(lazy);
  return result;
}
