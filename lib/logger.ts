/** JSON lines on standard output; values are encoded, so no input can forge a line. */
import pino from "pino";
import { logLevel } from "#lib/env";

export const logger = pino({ level: logLevel(), base: null, timestamp: pino.stdTimeFunctions.isoTime });

export type Logger = Pick<typeof logger, "debug" | "info" | "warn" | "error">;

/** Strings in log lines are cut here, so that a hostile megabyte stays one short line. */
export function clip(text: string, length = 300): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}
