/** Who acts, once more where the act is stored: a request may wait for seconds behind others. */
import { and, eq } from "drizzle-orm";
import type { Principal, UserPrincipal } from "#lib/api/http/principal";
import { ownerScopes, type Scope } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { apiKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { holdRole } from "#lib/services/accounts/members";
import { invalidApiKey, isLiveKey } from "./api-keys";

/**
 * Throws if the caller was removed, or the key revoked, since the request came. A person's role holds until the commit; a
 * key is judged as for an attestation, without a lock. Comes before any other lock but the organization's. `scope`: what
 * only some keys may do, and only owners if only they make such keys.
 */
export async function holdCaller(tx: Executor, principal: Principal, scope?: Scope): Promise<void> {
  const { organizationId } = principal;
  const person: UserPrincipal | undefined = principal.kind === "user" ? principal : principal.person;
  if (person !== undefined) {
    const needed = scope !== undefined && ownerScopes.includes(scope) ? "owner" : "member";
    await holdRole(tx, { ...person, organizationId }, needed);
  }
  if (principal.kind === "user") return;
  const [key] = await tx
    .select({ scopes: apiKeys.scopes })
    .from(apiKeys)
    .where(and(eq(apiKeys.id, principal.keyId), isLiveKey));
  if (!key) throw invalidApiKey();
  if (scope !== undefined && !key.scopes.includes(scope))
    throw new AppError("insufficient_scope", `this key no longer has the scope ${scope}`);
}
