/** Errors as RFC 9457 documents. What is not an AppError becomes 500 or 503 without its cause. */
import type { Problem } from "#lib/api/schemas/problem";
import { isUnreachable } from "#lib/db/postgres/failures";
import { AppError, describeError } from "#lib/errors";
import type { Logger } from "#lib/logger";
import type { HttpResponse } from "./messages";

/** The database being out of reach is a passing state of the service, not a fault of the request. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isUnreachable(error)) {
    return new AppError("service_unavailable", "the database is unreachable; try again shortly", {
      cause: error,
    });
  }
  return new AppError(
    "server_error",
    "something went wrong on our side; the operator can find it in the log by request_id",
    {
      cause: error,
    },
  );
}

export function answerProblem(
  thrown: unknown,
  baseUrl: string,
  requestId: string,
  logger: Logger,
): HttpResponse {
  const error = toAppError(thrown);
  const { status, code } = describeError(error.errorName);
  if (status >= 500)
    logger.error({ request_id: requestId, code, err: error.cause ?? error }, "request failed");
  return writeProblem(error, baseUrl, requestId);
}

export function writeProblem(error: AppError, baseUrl: string, requestId: string): HttpResponse {
  const { status, title, code } = describeError(error.errorName);
  const body: Problem = {
    type: `${baseUrl}/docs/errors#${code}`,
    title,
    status,
    detail: error.detail,
    error: title,
    code,
    request_id: requestId,
  };
  if (error.errors !== undefined) body.errors = error.errors;
  const headers: Record<string, string> = {
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    ...error.headers,
  };
  if (status === 401 && code !== "invalid_code") headers["www-authenticate"] = 'Bearer realm="countersign"';
  if (status === 503 || code === "idempotency_conflict") headers["retry-after"] ??= "2";
  if (status === 429 && headers["retry-after"] !== undefined)
    body.retry_after = Number(headers["retry-after"]);
  return { status, headers, text: JSON.stringify(body) };
}
