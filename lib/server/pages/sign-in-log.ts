/** Logs next-auth's reports, at the level that they have for an operator. */
import type { Logger } from "#lib/logger";

/** A visitor's matter, which their page explains: by next-auth's type of the problem. */
const visitors = new Map([
  ["Verification", "a sign-in link was refused: it was used already or is too old"],
  ["AccessDenied", "a sign-in was refused: sign-up is closed to this person"],
]);

function explain(problem: unknown): string | undefined {
  return problem instanceof Error && "type" in problem ? visitors.get(String(problem.type)) : undefined;
}

export function createSignInLogger(logger: Logger) {
  return {
    error: (problem: unknown) => {
      const words = explain(problem);
      if (words !== undefined) logger.info(words);
      else logger.error({ err: problem }, "sign-in");
    },
    warn: (problem: unknown) => logger.warn({ err: problem }, "sign-in"),
    debug: () => {},
  };
}
