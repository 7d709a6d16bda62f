/**
 * Instruments the service's work: metrics and traces (lib/server/telemetry) subscribe if they are set. While none does,
 * a step costs one comparison. Channels of Node are shared by the whole process, so Next's bundle, which has copies of
 * its own of this code, is measured too. Names and attributes come from the source: never from a request.
 */
import { channel } from "node:diagnostics_channel";
import { AppError } from "./errors";

/** `append`: an entry's way into the log; `batch`: what is stored at once; `job`: work in a thread. */
export type StepKind = "request" | "append" | "batch" | "job" | "webhook" | "mail" | "world";

export interface Step {
  kind: StepKind;
  name: string;
  attributes: Record<string, string | number>;
  /** `ok`, or the error's name. */
  outcome: string;
  seconds: number;
}

export interface Happening {
  kind: "signature" | "limit refused" | "fork guard refused" | "malformed form" | "events rejected";
  /** Name, and the number where that is counted. */
  name: string;
}

export const stepBegan = channel("countersign.step.began");
export const stepEnded = channel("countersign.step.ended");
export const happened = channel("countersign.happened");

export type Note = (attributes: Step["attributes"], outcome?: string) => void;
const ignore: Note = () => {};

export function measure<T>(kind: StepKind, name: string, work: (note: Note) => Promise<T>): Promise<T> {
  return stepEnded.hasSubscribers ? runMeasured(kind, name, work) : work(ignore);
}

function runMeasured<T>(kind: StepKind, name: string, work: (note: Note) => Promise<T>): Promise<T> {
  const step: Step = { kind, name, attributes: {}, outcome: "ok", seconds: 0 };
  const startMs = performance.now();
  const note: Note = (attributes, outcome = step.outcome) => {
    step.outcome = outcome;
    Object.assign(step.attributes, attributes);
  };
  return stepBegan.runStores(step, async () => {
    try {
      return await work(note);
    } catch (error) {
      step.outcome = error instanceof AppError ? error.errorName : "failed";
      throw error;
    } finally {
      step.seconds = (performance.now() - startMs) / 1000;
      stepEnded.publish(step);
    }
  });
}

export function count(kind: Happening["kind"], name: string): void {
  if (happened.hasSubscribers) happened.publish({ kind, name } satisfies Happening);
}
