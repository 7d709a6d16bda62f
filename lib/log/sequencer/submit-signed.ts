/**
 * Makes and signs an item and puts it into the log. If the key was rotated in between, by this process or another, the
 * new key is loaded and the item made again; so it is if what it was made from was changed.
 */

import { AppError } from "#lib/errors";
import type { LogContext } from "#lib/log/context";
import {
  GroupRefused,
  type LogItem,
  type LogItemKind,
  type Placed,
  SigningKeyChanged,
  StaleInputs,
} from "./item";

/** More changes than this during one request can't be meant. */
const maxAttempts = 3;

type Reloading = Pick<LogContext, "logger"> & { keys: Pick<LogContext["keys"], "reload"> };

export async function reloadKeys(context: Reloading): Promise<void> {
  try {
    await context.keys.reload();
  } catch (cause) {
    context.logger.error({ err: cause }, "a key was rotated, and the new one is not at hand");
    const detail = "a signing key was rotated, and this process does not have the new one yet";
    throw new AppError("service_unavailable", detail, { cause });
  }
}

const isOutdated = (error: unknown) => error instanceof SigningKeyChanged || error instanceof StaleInputs;

const rejection = (reason: unknown): PromiseRejectedResult => ({ status: "rejected", reason });

/** Those that are refused keep their reason; the others were not stored because of them. */
function refuseAll(reasons: readonly unknown[]): PromiseRejectedResult[] {
  const other = new AppError("batch_refused", "another entry was refused, so nothing was recorded");
  return reasons.map((reason) => rejection(reason ?? other));
}

/** Stores all that is made or nothing. A result for each; only a failure of the whole is thrown. */
export async function submitAllSigned<Item extends LogItem>(
  context: Reloading & Pick<LogContext, "log">,
  kind: LogItemKind<Item>,
  make: (attempt: number) => Promise<PromiseSettledResult<Item>[]>,
): Promise<PromiseSettledResult<Placed<Item>>[]> {
  for (let attempt = 1; ; attempt += 1) {
    const made = await make(attempt);
    const items = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    if (items.length < made.length)
      return refuseAll(made.map((one) => (one.status === "rejected" ? one.reason : null)));
    try {
      const placed = await context.log.submitAll(kind, items);
      return placed.map((value) => ({ status: "fulfilled", value }));
    } catch (error) {
      const reasons = error instanceof GroupRefused ? error.reasons : [error];
      if (attempt < maxAttempts && reasons.some(isOutdated)) {
        if (reasons.some((reason) => reason instanceof SigningKeyChanged)) await reloadKeys(context);
        continue;
      }
      if (error instanceof GroupRefused) return refuseAll(error.reasons);
      throw error;
    }
  }
}

export async function submitSigned<Item extends LogItem>(
  context: Reloading & Pick<LogContext, "log">,
  kind: LogItemKind<Item>,
  make: (attempt: number) => Promise<Item>,
): Promise<Placed<Item>> {
  for (let attempt = 1; ; attempt += 1) {
    const item = await make(attempt);
    try {
      return await context.log.submit(kind, item);
    } catch (error) {
      if (attempt === maxAttempts || !isOutdated(error)) throw error;
      if (error instanceof SigningKeyChanged) await reloadKeys(context);
    }
  }
}
