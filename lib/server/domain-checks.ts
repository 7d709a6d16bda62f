/** Looks every ten minutes for proven domains that were not checked for a day. */
import { checkDueDomains } from "#lib/services/accounts/domains";
import type { Context } from "#lib/services/approvals/context";

const intervalMs = 600_000;

/** Never the reason that a process stays. Returns the function that ends it. */
export function startDomainChecks(context: Context): () => void {
  let isStopped = false;
  let isRunning = false;
  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    try {
      while (!isStopped && (await checkDueDomains(context)) > 0);
    } catch (error) {
      // Domains that were being asked when the process ends are asked again after the next start.
      if (!isStopped) context.logger.warn({ err: error }, "a round of domain checks failed");
    } finally {
      isRunning = false;
    }
  }
  const timer = setInterval(run, intervalMs);
  timer.unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
