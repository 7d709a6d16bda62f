type Work = (isStopped: () => boolean) => Promise<unknown>;

/**
 * Work that a process does again and again by itself. A round doesn't wait for the one before: what hangs holds its own
 * place only. Never the reason that a process stays.
 */
export function startInterval(
  everyMs: number,
  work: Work,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const rounds = new Set<Promise<unknown>>();
  let isStopped = false;
  const timer = setInterval(() => {
    const round = work(() => isStopped)
      .catch(onError)
      .finally(() => rounds.delete(round));
    rounds.add(round);
  }, everyMs);
  timer.unref();
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await Promise.all(rounds);
  };
}

/** A round that is due while another one runs is left out. */
export function oneAtATime(work: Work): Work {
  let isRunning = false;
  return async (isStopped) => {
    if (isRunning) return;
    isRunning = true;
    await work(isStopped).finally(() => {
      isRunning = false;
    });
  };
}
