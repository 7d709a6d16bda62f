/** Messages to the operator if a start fails or has to wait, with what to do. */
import { logger } from "#lib/logger";

/** The message is for the operator, who gets no stack. */
export class CannotStart extends Error {
  readonly words: { says: string; mend: string };
  constructor(words: { says: string; mend: string }, cause?: unknown) {
    super(`Countersign cannot start: ${words.says}. ${words.mend}`, { cause });
    this.words = words;
  }
}

const sayEveryMs = 5_000;

/** Says what the start waits for if that takes long, and says it again. */
export async function waitingFor<T>(what: string, work: Promise<T>): Promise<T> {
  const startMs = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startMs) / 1000);
    logger.warn(`Countersign is starting: it has waited ${seconds} s for ${what}`);
  }, sayEveryMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
