/**
 * The operations behind the tools, called as the caller would call them: through the same checks, with the caller's key, so
 * that scopes, limits, validation and idempotency are the same.
 */

import type { Call } from "#lib/api/http/pipeline";
import type { HttpRequest, HttpResponse } from "#lib/api/http/problem";
import { rememberPeer } from "#lib/api/http/rate-limit";
import type { Context } from "#lib/services/approvals/context";

export type AnswerAsked = (request: HttpRequest) => Promise<HttpResponse | Response>;

/** Operations that the tools may reach. None decides about a request, or lets a frozen agent go on. */
export type ToolOperation =
  | {
      method: "POST";
      path:
        | "/v1/attest"
        | "/v1/authorize"
        | `/v1/authorize/${string}/answer`
        | `/v1/authorize/${string}/claim`
        | `/v1/authorizations/${string}/revoke`
        | `/v1/identity/${string}/freeze`;
      body: object;
      idempotencyKey?: string | undefined;
    }
  | { method: "DELETE"; path: `/v1/authorize/${string}` }
  | { method: "GET"; path: `/v1/authorize/${string}` | `/v1/verify/${string}` | `/v1/agent/${string}` };

/** A problem of the service, in its own words. */
export class ToolFailure extends Error {}

export type CallOperation = <Body>(operation: ToolOperation) => Promise<Body>;

export function callAs({ request, ip }: Call<unknown, unknown, Context>, answer: AnswerAsked): CallOperation {
  return async <Body>(operation: ToolOperation) => {
    const headers = new Headers({ authorization: request.headers.get("authorization") ?? "" });
    const sent = operation.method === "POST" ? operation : undefined;
    if (sent?.idempotencyKey !== undefined) headers.set("idempotency-key", sent.idempotencyKey);
    const asked: HttpRequest = {
      method: operation.method,
      url: `http://localhost${operation.path}`,
      headers,
      body: sent === undefined ? null : new Blob([JSON.stringify(sent.body)]).stream(),
    };
    rememberPeer(asked, ip.replace(/\/64$/, ""));
    const { status, text } = await read(await answer(asked));
    const body = JSON.parse(text);
    if (status >= 400) throw new ToolFailure(`${body.code}: ${body.detail}`);
    return body as Body;
  };
}

async function read(answer: HttpResponse | Response): Promise<{ status: number; text: string }> {
  const text = answer instanceof Response ? await answer.text() : (answer.text ?? "");
  return { status: answer.status, text };
}
