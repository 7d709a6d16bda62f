/**
 * Makes and signs an item and puts it into the log. If the key was rotated in between, by this process or another, the
 * new key is loaded and the item made again; so it is if what it was made from was changed.
 */

import { AppError } from "#lib/errors";
import type { LogContext } from "#lib/log/context";
import { type LogItem, type LogItemKind, Outdated, type Placed, SigningKeyChanged } from "./item";

/** More changes than this during one request are nobody's intention. */
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
      const isKeyChanged = error instanceof SigningKeyChanged;
      if (attempt === maxAttempts || !(isKeyChanged || error instanceof Outdated)) throw error;
      if (isKeyChanged) await reloadKeys(context);
    }
  }
}
