/** When a server stops: some time after the signal, in which load balancers learn of it. */
import { setTimeout as sleep } from "node:timers/promises";

const nextSignal = () =>
  new Promise<void>((resolve) => {
    const done = () => {
      for (const signal of ["SIGTERM", "SIGINT"]) process.off(signal, done);
      resolve();
    };
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, done);
  });

/** `leave` is called at the first signal. The stop follows after the delay, or at the next signal. */
export async function untilStop(delaySeconds: number, leave: () => void): Promise<void> {
  await nextSignal();
  leave();
  if (delaySeconds > 0) await Promise.race([sleep(delaySeconds * 1000), nextSignal()]);
}
