/** The link by which a human decides: `{base}/approve/<request id>.<HMAC>`. */

import { makeToken, readToken } from "#lib/api/http/link-token";
import type { Context } from "./context";

export function approvalUrl({ secrets, settings }: Context, requestId: string): string {
  return `${settings.baseUrl}/approve/${makeToken(secrets.approvalLink, requestId)}`;
}

/** The request's id; null for a token that this service did not make. */
export function readApprovalToken({ secrets }: Context, token: string): string | null {
  return readToken(secrets.approvalLink, token);
}
