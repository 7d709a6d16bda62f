/** Logs next-auth's reports, at the level that they have for an operator. */
import type { Logger } from "#lib/logger";

/** A link that was used already, is too old or was never mailed: a visitor's matter, which their page explains. */
const isVisitors = (problem: unknown) =>
  problem instanceof Error && "type" in problem && problem.type === "Verification";

export function createSignInLogger(logger: Logger) {
  return {
    error: (problem: unknown) => {
      if (isVisitors(problem)) logger.info("a sign-in link was refused: it was used already or is too old");
      else logger.error({ err: problem }, "sign-in");
    },
    warn: (problem: unknown) => logger.warn({ err: problem }, "sign-in"),
    debug: () => {},
  };
}
