const noAnswer = () => Object.assign(new Error("no answer"), { code: "ETIMEDOUT" });

/** Rejects with `late` if the work takes longer than this; the work goes on. */
export function inTime<T>(work: Promise<T>, patienceMs: number, late: () => Error = noAnswer): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), patienceMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
