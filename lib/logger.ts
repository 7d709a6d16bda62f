/**
 * JSON lines on standard output; values are encoded, so no input can forge a line. Errors are written by type, message,
 * code and stack alone: a database driver's error repeats the statement's parameters and the failing row, which hold
 * private payloads and signatures.
 */
import pino from "pino";
import { logLevel } from "./env";

interface LoggedError {
  type: string;
  message: string;
  code?: string;
  constraint?: string;
  stack: string;
  cause?: LoggedError;
}

const maxCauses = 5;

/** Drops drizzle's `params: …` and the value that PostgreSQL quotes (`invalid input syntax …: "…"`). */
export function describeMessage(message: string): string {
  return clip(message.split("\nparams:")[0]?.replace(/: ".*/s, "") ?? "", 1000);
}

/** The frames only: a stack begins with the message as it is. */
function describeStack(stack: string | undefined): string {
  const frames = (stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return clip(frames.join("\n"), 3000);
}

function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: "not an Error", stack: "" };
  const { code, constraint_name, constraint } = error as { [name: string]: unknown } & Error;
  const violated = constraint_name ?? constraint;
  return {
    type: error.constructor.name,
    message: describeMessage(error.message),
    ...(typeof code === "string" && { code: clip(code) }),
    ...(typeof violated === "string" && { constraint: clip(violated) }),
    stack: describeStack(error.stack),
    ...(error.cause !== undefined && depth < maxCauses && { cause: describeError(error.cause, depth + 1) }),
  };
}

/** JSON leaves these as they are, and a terminal obeys them: C1 controls (CSI among them), line ends, directions. */
const obeyed = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escapeControls(line: string): string {
  return line.replace(obeyed, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `destination`: standard output unless a test gives another. */
export function createLogger(level: string, destination?: pino.DestinationStream) {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => describeError(error) },
    hooks: { streamWrite: escapeControls },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

export const logger = createLogger(logLevel());

export type Logger = Pick<typeof logger, "debug" | "info" | "warn" | "error">;

/** Strings in log lines are cut here, so that a hostile megabyte stays one short line. */
export function clip(text: string, length = 300): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}
