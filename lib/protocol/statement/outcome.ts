/** Result of a check. Anything but a plain pass has a reason for programs; `detail` is for people. */
import { explain, type Reason, type ValuesOf } from "./reasons";

/** `not_run`: an earlier check failed. */
export type Outcome<Other extends "fail" | "not_applicable" | "not_run" = "fail" | "not_applicable"> =
  | { status: "pass"; reason?: never; detail: string }
  | { status: Other; reason: Reason; detail: string };

type Failure = Extract<Outcome<"fail">, { reason: Reason }>;
type Skip = Extract<Outcome<"not_applicable">, { reason: Reason }>;

export const pass = (detail: string): Outcome<never> => ({ status: "pass", detail });

export function fail<Code extends Reason>(reason: Code, ...values: ValuesOf<Code>): Failure {
  return { status: "fail", reason, detail: explain(reason, ...values) };
}

export function skip<Code extends Reason>(reason: Code, ...values: ValuesOf<Code>): Skip {
  return { status: "not_applicable", reason, detail: explain(reason, ...values) };
}

/** The first check that failed, as the outcome of the one check that runs them all; undefined if none did. */
export function firstFailure(
  checks: readonly (Outcome<"fail" | "not_applicable" | "not_run"> & { name: string })[],
): Failure | undefined {
  for (const { name, status, reason, detail } of checks)
    if (status === "fail") return { status, reason, detail: `${name}: ${detail}` };
  return undefined;
}

export interface Fault {
  ok: false;
  reason: Reason;
  problem: string;
}

export function fault<Code extends Reason>(reason: Code, ...values: ValuesOf<Code>): Fault {
  return { ok: false, reason, problem: explain(reason, ...values) };
}

export function failBy({ reason, problem }: Fault): Failure {
  return { status: "fail", reason, detail: problem };
}
