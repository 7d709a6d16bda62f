/**
 * Next and libraries print with `console`, in several lines and with whatever a client sent. In the production
 * server that goes through the logger instead: one JSON line each, an error as the logger writes errors, and of
 * the rest text alone, since other values may hold rows and parameters.
 */
import { describeMessage, type Logger } from "#lib/logger";
import { noteMalformedForm } from "./malformed-forms";

const levels = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error" } as const;

/** Node prints warnings as errors: `(node:71) NodeVersionSupportWarning: …` */
const isNodeWarning = /^\(node:\d+\) /;

function describeText(args: unknown[]): string {
  return args
    .filter((arg) => ["string", "number", "boolean"].includes(typeof arg))
    .map(String)
    .join(" ")
    .trim();
}

/** From now on, for the whole process. */
export function logConsole(logger: Logger, target: Pick<Console, keyof typeof levels> = console): void {
  for (const [name, level] of Object.entries(levels)) {
    target[name as keyof typeof levels] = (...args: unknown[]) => {
      const err = args.find((arg) => arg instanceof Error);
      const text = describeText(args);
      if (noteMalformedForm(err, text, logger)) return;
      const message = describeMessage(text) || "console";
      logger[isNodeWarning.test(text) ? "warn" : level](err === undefined ? {} : { err }, message);
    };
  }
}
