/** One severity for each warning, on every page. Red is for records that failed verification. */
import type { WarningCode } from "#lib/protocol/statement/warnings";
import type { Tone } from "./ui/status-pill";

export const warningTone = (code: WarningCode): Tone & ("warn" | "test" | "neutral") =>
  code === "approval_test"
    ? "test"
    : code === "content_erased" || code === "reported_by_trace"
      ? "neutral"
      : "warn";
