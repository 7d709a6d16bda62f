/** Explains a failed batch to the sequencer, and to the callers that wait. */
import { isUnreachable, type Refusal, refusalOf } from "#lib/db/postgres/failures";
import { AppError } from "#lib/errors";
import { ForkGuardError } from "./fork-guard";
import { HeadLockAway } from "./head-lock";
import { type Judgement, type Outcome, type QueuedItem, SigningKeyChanged, type Verdict } from "./item";

/** The commit was sent and its outcome is unknown: nothing may be reported, and nothing tried a second time. */
export class UncertainCommit extends Error {}

function judge(outcomes: readonly Outcome[], { reason, detail }: Refusal): Map<QueuedItem, Judgement> {
  if (reason !== "verdicts") return new Map();
  const byIndex = new Map((JSON.parse(detail) as Verdict[]).map((one) => [one.leaf_index, one]));
  const judged = new Map<QueuedItem, Judgement>();
  for (const { queued, result } of outcomes) {
    const verdict = result instanceof Error ? undefined : byIndex.get(result.receipt.index);
    if (verdict === undefined) continue;
    if (queued.kind.judgementOf === undefined) throw new Error(`nothing judges items of ${queued.kind.kind}`);
    judged.set(queued, queued.kind.judgementOf(queued.item, verdict));
  }
  return judged;
}

/** The database refused the statement for what it says; nothing is stored. */
export class Refused extends Error {
  readonly reason: string | null;
  /** Empty if the database said nothing of single items. */
  readonly judged: Map<QueuedItem, Judgement>;
  constructor(cause: unknown, outcomes: readonly Outcome[]) {
    super("the batch was refused", { cause });
    const refusal = refusalOf(cause);
    this.reason = refusal?.reason ?? null;
    this.judged = refusal === null ? new Map() : judge(outcomes, refusal);
  }
}

/** The error for the caller if a whole batch failed; null: its items may be tried separately. */
export function wholeFailure(error: unknown): AppError | SigningKeyChanged | null {
  if (error instanceof SigningKeyChanged) return error;
  if (error instanceof ForkGuardError) {
    const detail = "the log cannot be extended until its operator has investigated";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (error instanceof HeadLockAway) {
    const detail = "the log's store did not respond, so nothing was recorded; try again shortly";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (error instanceof UncertainCommit) {
    const detail =
      "the database did not respond, so this may or may not have been recorded; send it again with the same Idempotency-Key to record it once";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (!isUnreachable(error)) return null;
  return new AppError("service_unavailable", "the database is unreachable; try again shortly", {
    cause: error,
  });
}
