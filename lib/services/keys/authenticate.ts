/** Bearer keys. A missing one gets one answer; unknown, malformed, expired and deleted ones all get the other. */

import type { HttpRequest } from "#lib/api/http/messages";
import type { KeyPrincipal, KnownKey } from "#lib/api/http/principal";
import type { Auth } from "#lib/api/operations/operation";
import type { Scope } from "#lib/api/schemas/key-choices";
import { AppError } from "#lib/errors";
import type { AccountsContext } from "#lib/services/accounts/context";
import { isApiKeyText } from "./api-key-text";
import { invalidApiKey } from "./api-keys";
import type { Callers } from "./callers";
import { findKeyPrincipal } from "./key-principals";
import type { UnknownKeys } from "./unknown-keys";

/** Null if the header carries no bearer key at all; whatever it carries as one is looked up. */
function bearerKey(request: Pick<HttpRequest, "headers">): string | null {
  const [, text] = /^Bearer +(\S.*)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  return text ?? null;
}

type AuthContext = AccountsContext & { unknownKeys: UnknownKeys; callers: Callers };

/** Null for unknown, malformed, expired and deleted keys alike; throws 429 if the client sent too many of them. */
async function findKey(
  context: AuthContext,
  text: string,
  ip: string,
  note: (key: KnownKey) => void,
): Promise<KeyPrincipal | null> {
  if (!isApiKeyText(text)) return null;
  const lookUp = () =>
    findKeyPrincipal(context, text, ip, (dead) => context.callers.rememberDead(text, dead));
  const { found, refusal } = await context.unknownKeys.find(text, ip, lookUp);
  const known = found ?? context.callers.recallDead(text);
  if (known !== null) note(known);
  if (found !== null) context.callers.remember(text, found);
  if (refusal !== null) throw refusal;
  return found;
}

const hasOneOf = ({ scopes: own }: KeyPrincipal, scopes: readonly Scope[]) =>
  scopes.some((scope) => own.includes(scope));

/** As {@link authenticate}, from memory alone; null if it would have to ask. */
export function authenticateFromCache(
  { callers }: AuthContext,
  auth: Auth,
  request: Pick<HttpRequest, "headers">,
  ip: string,
): KeyPrincipal | null {
  if (auth.kind !== "key" || auth.scopes.length === 0) return null;
  const text = bearerKey(request);
  const known = text === null ? null : callers.recall(text);
  return known !== null && hasOneOf(known, auth.scopes) ? { ...known, ip } : null;
}

/** Null if no key is needed. A bearer header on a public route does no harm: it is not even looked at. */
export async function authenticate(
  context: AuthContext,
  auth: Auth,
  request: Pick<HttpRequest, "headers">,
  ip: string,
  note: (key: KnownKey) => void,
): Promise<KeyPrincipal | null> {
  if (auth.kind === "none") return null;
  const text = bearerKey(request);
  const principal = text === null ? null : await findKey(context, text, ip, note);
  if (auth.kind === "optional")
    return principal !== null && hasOneOf(principal, auth.scopes) ? principal : null;
  if (text === null) {
    throw new AppError("missing_authorization", "send your API key as `Authorization: Bearer cs_…`");
  }
  if (principal === null) throw invalidApiKey();
  if (auth.scopes.length > 0 && !hasOneOf(principal, auth.scopes)) {
    const names = auth.scopes.join(" or ");
    throw new AppError("insufficient_scope", `this requires an API key with the scope ${names}`);
  }
  return principal;
}
