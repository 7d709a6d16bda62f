/** Errors as RFC 9457 documents. What is not an AppError becomes 500 or 503 without its cause. */
import type { Problem } from "#lib/api/schemas/primitives";
import { isUnreachable } from "#lib/db/postgres/failures";
import { AppError, describeError, type ErrorName } from "#lib/errors";
import type { Logger } from "#lib/logger";
import { encodeProtobuf } from "#lib/protocol/encoding/protobuf";

/**
 * The shapes of a request, as far as operations ask about it, and of an answer in text. The web's Request is one such
 * request; the production server makes them from node:http, because a Request and a Response cost more than most
 * operations.
 */
export interface HttpRequest {
  readonly method: string;
  /** Absolute; its host says nothing. */
  readonly url: string;
  readonly headers: Pick<Headers, "get" | "has">;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Reads a body whose announced length is `announced` bytes; rejects if its sender breaks it off. */
  readonly whole?: { announced: number; read: () => Promise<Uint8Array> } | undefined;
}

/** An answer in text. Header names are in lower case. */
export interface HttpResponse {
  status: number;
  headers: Record<Lowercase<string>, string>;
  text: string | null;
}

export function toResponse(answer: HttpResponse | Response): Response {
  if (answer instanceof Response) return answer;
  const { status, headers, text } = answer;
  return new Response(text, { status, headers });
}

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
  isScim = false,
): HttpResponse {
  const error = toAppError(thrown);
  const { status, code } = describeError(error.errorName);
  if (status >= 500)
    logger.error({ request_id: requestId, code, err: error.cause ?? error }, "request failed");
  const problem = writeProblem(error, baseUrl, requestId);
  return isScim ? toScimError(error, problem) : problem;
}

export const scimMediaType = "application/scim+json";

const scimTypes: Partial<Record<ErrorName, string>> = {
  already_exists: "uniqueness",
  bad_request: "invalidSyntax",
  validation_error: "invalidValue",
};

/** RFC 7644, section 3.12, which has no 422. */
function toScimError(error: AppError, problem: HttpResponse): HttpResponse {
  const status = problem.status === 422 ? 400 : problem.status;
  const scimType = error.scimType ?? scimTypes[error.errorName];
  const body = {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    detail: error.detail,
  };
  const headers = { ...problem.headers, "content-type": scimMediaType };
  return { status, headers, text: JSON.stringify(body) };
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

/* OTLP's clients read errors as a google.rpc.Status, in the encoding of what they sent. */

export const otlpEncodings = { protobuf: "application/x-protobuf", json: "application/json" } as const;
export type OtlpEncoding = keyof typeof otlpEncodings;

/** Null for another media type. */
export function readOtlpEncoding({ headers }: Pick<HttpRequest, "headers">): OtlpEncoding | null {
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type === otlpEncodings.protobuf) return "protobuf";
  return type === otlpEncodings.json ? "json" : null;
}

export function toRpcStatus(
  { status, headers, text }: HttpResponse,
  encoding: OtlpEncoding | null,
): HttpResponse | Response {
  const { title, detail, request_id } = JSON.parse(text ?? "{}") as Problem;
  const message = `${title}: ${detail} (${request_id})`;
  const content = { ...headers, "content-type": otlpEncodings[encoding ?? "json"] };
  if (encoding !== "protobuf") return { status, headers: content, text: JSON.stringify({ message }) };
  return new Response(encodeProtobuf({ 2: message }) as BodyInit, { status, headers: content });
}

/** JSON that was written before, in ASCII: for what stays the same for a while and is asked for often. */
export class SerializedJson {
  /** Text of one byte a character. */
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  static of(value: unknown): SerializedJson {
    const text = JSON.stringify(value).replaceAll(
      /[\u0080-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    // The replacement made it two bytes a character.
    return new SerializedJson(Buffer.from(text, "latin1").toString("latin1"));
  }

  static object(members: Record<string, unknown>): SerializedJson {
    const isWritten = (value: unknown) => Array.isArray(value) && value[0] instanceof SerializedJson;
    const write = (value: unknown) =>
      isWritten(value)
        ? `[${(value as SerializedJson[]).map(({ text }) => text).join(",")}]`
        : SerializedJson.of(value).text;
    const written = Object.entries(members).map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`);
    return new SerializedJson(`{${written.join(",")}}`);
  }

  static again(text: string): SerializedJson {
    return new SerializedJson(text);
  }
}
