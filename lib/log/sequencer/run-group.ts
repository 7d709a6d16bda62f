/** A group: all of its items are stored, or none. */
import { AppError } from "#lib/errors";
import { Refused, wholeFailure } from "./batch-failures";
import {
  type Group,
  GroupRefused,
  type Judgement,
  type LogItem,
  type Outcome,
  type Placed,
  type QueuedItem,
} from "./item";

/** How often a group is tried again with what has changed put in place. */
const groupAttempts = 3;

/** `after`: it is in the way of another one of its group, which no order can help. */
const reasonOf = (judgement: Judgement | undefined): AppError | null =>
  judgement === "after"
    ? new AppError("validation_error", "another entry has the same agent_signature or human_authorization")
    : judgement instanceof AppError
      ? judgement
      : null;

/** `commit`: from the database alone if `isAnew`. Rejects the group with GroupRefused if some can't be stored as they are. */
export async function runGroup(
  { batch, resolve, reject }: Group,
  commit: (batch: QueuedItem[], isAnew: boolean) => Promise<Outcome[]>,
  tellRefusal: (error: unknown) => void,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const outcomes = await commit(batch, attempt > 1);
      return resolve(outcomes.map(({ result }) => result as Placed<LogItem>));
    } catch (error) {
      const judged = error instanceof Refused ? error.judged : new Map<QueuedItem, Judgement>();
      if (judged.size === 0) {
        tellRefusal(error);
        return reject(wholeFailure(error) ?? error);
      }
      for (const [{ item }, judgement] of judged) if (judgement instanceof AppError) item.forget?.();
      const isChangedInPlace = [...judged.values()].every((judgement) => judgement === "again");
      if (!isChangedInPlace || attempt === groupAttempts)
        return reject(new GroupRefused(batch.map((queued) => reasonOf(judged.get(queued)))));
    }
  }
}
