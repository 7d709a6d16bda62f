/**
 * Forms that Next can't read. It reports each as an error with a stack, often twice, though anybody can send one. Here
 * that is one short line and a count. What our own code reports about a form that could be read stays as it is.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { count } from "#lib/instrumentation";
import { clip, type Logger } from "#lib/logger";

export interface PostedForm {
  isMalformed: boolean;
}

const posted = new AsyncLocalStorage<PostedForm>();

const isOfNext = (frame: string) => /node_modules[/_]next[/_]dist/.test(frame);
const isOfNode = (frame: string) => /\(?(?:node:|<anonymous>|index \d+)/.test(frame);

/** True if Next alone was at work, and none of our code. */
function isNextsOwn({ stack = "" }: Error): boolean {
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return frames.some(isOfNext) && frames.every((frame) => isOfNext(frame) || isOfNode(frame));
}

/** For what Next does with a request that may have one. */
export const runWithForm = <T>(form: PostedForm, work: () => T): T => posted.run(form, work);

/** Message of Next before the error that it throws for a form from another site. */
const announced = /from a forwarded Server Actions request\. Aborting/;

/** False: this is about something else, or no form. */
export function noteMalformedForm(error: Error | undefined, text: string, logger: Logger): boolean {
  const form = posted.getStore();
  if (form === undefined) return false;
  if (error === undefined) return announced.test(text);
  if (!isNextsOwn(error)) return false;
  if (!form.isMalformed) {
    form.isMalformed = true;
    count("malformed form", "");
    logger.warn({ problem: clip(error.message.split("\n")[0] ?? "", 120) }, "a form could not be read");
  }
  return true;
}
