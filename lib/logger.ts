/** JSON lines on standard output; values are encoded, so no input can forge a line. */
import pino from "pino";
import { logLevel } from "#lib/env";

/** Drizzle's errors carry the statement's parameters, which are payloads, addresses and hashes: not for a log. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return clip(String(error));
  const [message = ""] = error.message.split("\nparams:");
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: clip(message, 1000),
    ...(typeof code === "string" && { code }),
    stack: clip(
      (error.stack ?? "")
        .split("\n")
        .filter((line) => /^\s+at /.test(line))
        .join("\n"),
      3000,
    ),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}

export const logger = pino({
  level: logLevel(),
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  serializers: { err: describeError },
});

export type Logger = Pick<typeof logger, "debug" | "info" | "warn" | "error">;

/** Strings in log lines are cut here, so that a hostile megabyte stays one short line. */
export function clip(text: string, length = 300): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}
