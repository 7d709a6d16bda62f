/** zod's issues as the field errors of a problem document (docs/wire.md, Errors). */
import type { z } from "zod";
import type { OperationSpec } from "#lib/api/operations/operation";
import { AppError, type FieldError } from "#lib/errors";
import { clip } from "#lib/logger";

/** A hostile body can be wrong in ten thousand places; a reader needs no more than these. */
export const maxErrors = 20;
const maxNameLength = 100;

/** A name as it was sent, unless it is an API key sent by mistake: no error shows one. */
function describeName(name: PropertyKey): string {
  return clip(String(name).replace(/cs_(?:live|test)_\w+/g, "cs_…"), maxNameLength);
}

/** RFC 6901 */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${describeName(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Types of which most schemas don't say what the value must be. A schema's own words come first. */
const mustBe: Partial<Record<string, string>> = {
  array: "must be an array",
  object: "must be an object",
  record: "must be an object",
};

const describeType: z.core.$ZodErrorMap = (issue) =>
  issue.code === "invalid_type" ? mustBe[issue.expected] : undefined;

function toFieldErrors(error: z.ZodError): FieldError[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        pointer: toPointer([...issue.path, key]),
        message: "is not a field of this request",
      }));
    }
    const isMissing = issue.code === "invalid_type" && (issue.input === undefined || issue.input === null);
    return [{ pointer: toPointer(issue.path), message: isMissing ? "is required" : issue.message }];
  });
}

/** `validation_error` for bodies, `bad_request` for query strings. */
export function validate<T>(
  schema: z.ZodType<T>,
  value: unknown,
  name: "validation_error" | "bad_request",
): T {
  const parsed = schema.safeParse(value, { reportInput: true, error: describeType });
  if (parsed.success) return parsed.data;
  const errors = toFieldErrors(parsed.error).slice(0, maxErrors);
  const first = errors[0] ?? { pointer: "", message: "is not valid" };
  const field = first.pointer.slice(1).replaceAll("/", ".") || "body";
  throw new AppError(name, `${field}: ${first.message}`, name === "validation_error" ? { errors } : {});
}

export function parseQuery(spec: OperationSpec, url: string): Record<string, unknown> {
  if (spec.query === undefined) return {};
  const given = new Map<string, string>();
  for (const [name, value] of new URL(url).searchParams) {
    if (given.has(name)) throw new AppError("bad_request", `${describeName(name)}: is set more than once`);
    given.set(name, value);
  }
  return validate(spec.query, Object.fromEntries(given), "bad_request");
}
