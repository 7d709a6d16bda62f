/**
 * The link by which a human decides: `{base}/approve/<request id>.<HMAC>`. The HMAC is under a secret of the server,
 * so that reading a request does not let one decide it, and the link can be shown again without being stored.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Context } from "./context";

function authenticator(context: Context, requestId: string): Buffer {
  return createHmac("sha256", context.secrets.approvalLink).update(requestId).digest();
}

export function approvalUrl(context: Context, requestId: string): string {
  const token = `${requestId}.${authenticator(context, requestId).toString("base64url")}`;
  return `${context.settings.baseUrl}/approve/${token}`;
}

/** The request's id; null for a token that this service did not make. */
export function readApprovalToken(context: Context, token: string): string | null {
  const [, requestId, mac] = /^(areq_[A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
  if (requestId === undefined || mac === undefined) return null;
  const expected = authenticator(context, requestId);
  const given = Buffer.from(mac, "base64url");
  // One spelling only: base64url's last character has bits that decode to nothing.
  const isCanonical = given.toString("base64url") === mac;
  return isCanonical && given.length === expected.length && timingSafeEqual(given, expected)
    ? requestId
    : null;
}
