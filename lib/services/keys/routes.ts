/** Runs the operations of lib/api/operations/keys.ts. */

import { enforceLimit, type Handlers, keyRequestAddressPolicy } from "#lib/api/http/pipeline";
import type { keysOperations as specs } from "#lib/api/operations/keys";
import { AppError } from "#lib/errors";
import type { AccountsContext } from "#lib/services/accounts/context";
import { describeApiKey, revokeApiKey } from "./api-keys";
import { requestKeyByEmail, verifyKeyByEmail } from "./email-keys";

/** A mailbox alone must not open what the company's provider guards. */
function requireMailedKeys({ settings }: AccountsContext): void {
  if (settings.OIDC_ENFORCED === "on")
    throw new AppError(
      "forbidden",
      "keys by email are off on this service: sign in to the portal with your company account, and create one there",
    );
}

export const keysHandlers: Handlers<typeof specs, AccountsContext> = {
  requestKey: async ({ context, body }) => {
    requireMailedKeys(context);
    const headers = await enforceLimit(context, keyRequestAddressPolicy(context.settings), body.email);
    await requestKeyByEmail(context, body.email, body.name ?? null);
    return {
      body: { message: "If this address can receive mail, a code is on its way.", expires_in: 600 },
      headers,
    };
  },
  verifyKey: async ({ context, body, ip }) => {
    requireMailedKeys(context);
    return { status: 201, body: await verifyKeyByEmail(context, body.email, body.code, ip) };
  },
  keyInfo: async (call) => ({ body: await describeApiKey(call.context, call.principal) }),
  deleteKey: async (call) => {
    const principal = call.principal;
    const { keyId } = principal;
    await revokeApiKey(call.context, principal, keyId);
    return { body: { message: "The key is deleted and no longer works.", key_id: keyId } };
  },
};
