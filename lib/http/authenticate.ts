/** Bearer keys (api.md section 1): absent is one answer; unknown, malformed, expired and deleted are another. */
import type { Auth } from "#lib/contract/operation";
import { AppError } from "#lib/errors";
import { type Caller, findCaller } from "#lib/services/api-keys";
import type { Context } from "#lib/services/context";

async function identify(context: Context, header: string, ip: string): Promise<Caller> {
  const [, text] = /^Bearer +(\S+)$/i.exec(header) ?? [];
  const caller = text === undefined ? null : await findCaller(context, text, ip);
  if (caller === null) throw new AppError("invalid_api_key", "the API key is not valid");
  return caller;
}

/** Null where no key is needed. A bearer header on a public route does no harm: it is not even looked at. */
export async function authenticate(
  context: Context,
  auth: Auth,
  request: Request,
  ip: string,
): Promise<Caller | null> {
  if (auth.kind === "none") return null;
  const header = request.headers.get("authorization");
  if (header === null) {
    if (auth.kind === "optional") return null;
    throw new AppError("missing_authorization", "send your API key as `Authorization: Bearer cs_…`");
  }
  if (auth.kind === "optional") {
    return identify(context, header, ip).catch((error: unknown) => {
      if (error instanceof AppError && error.errorName === "invalid_api_key") return null;
      throw error;
    });
  }
  const caller = await identify(context, header, ip);
  if (auth.scope !== null && !caller.scopes.includes(auth.scope)) {
    throw new AppError("insufficient_scope", `this needs an API key with the scope ${auth.scope}`);
  }
  return caller;
}
