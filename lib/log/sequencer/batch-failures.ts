/** What it means that a batch could not be stored, for the sequencer and for who waits. */
import { isUnreachable, refusalReason } from "#lib/db/failures";
import { AppError } from "#lib/errors";
import { ForkGuardError } from "./fork-guard";
import { SigningKeyChanged } from "./item";

/** The commit was sent and its outcome is unknown: nothing may be reported, and nothing tried a second time. */
export class UncertainCommit extends Error {}

/** The database refused the statement for what it says; nothing is stored. */
export class Refused extends Error {
  readonly reason: string | null;
  constructor(cause: unknown) {
    super("the batch was refused", { cause });
    this.reason = refusalReason(cause);
  }
}

/** The error for the caller if a whole batch failed; null: its items may be tried separately. */
export function wholeFailure(error: unknown): AppError | SigningKeyChanged | null {
  if (error instanceof SigningKeyChanged) return error;
  if (error instanceof ForkGuardError) {
    const detail = "the log cannot be extended until its operator has investigated";
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
