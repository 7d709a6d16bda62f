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

/** A fault as a value, for what is no check by itself. */
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

/* Constants of the product, the same on every deployment. */

export const PRODUCT_URI = "https://countersign.dev";

/** Version in package.json, which code that runs in a browser can't read. */
export const PRODUCT_VERSION = "1.0.0";

/** The client and the command line as an npm package. */
export const NPM_PACKAGE = "countersign.tgz";

/** The file in which the Python client is installed. */
export const PYTHON_WHEEL = `countersign_client-${PRODUCT_VERSION}-py3-none-any.whl` as const;

/** The file of 1.0.0, whose module was called as two packages of others are. */
export const RETIRED_PYTHON_WHEEL = "countersign-1.0.0-py3-none-any.whl";

/* Addresses that this service prints. */

/** Where everyone can look at an attestation and check it. */
export function publicUrl(baseUrl: string, slug: string, id: string): string {
  return `${baseUrl}/verify/${slug}/${id}`;
}
