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
  /** All of a body whose announced length is `announced` bytes; rejects if its sender breaks it off. */
  readonly whole?: { announced: number; read: () => Promise<Uint8Array> } | undefined;
}

/** An answer in text. Header names are in lower case. */
export interface HttpResponse {
  status: number;
  headers: Record<Lowercase<string>, string>;
  /** Null for none. */
  text: string | null;
}

export function toResponse(answer: HttpResponse | Response): Response {
  if (answer instanceof Response) return answer;
  const { status, headers, text } = answer;
  return new Response(text, { status, headers });
}
