/** The whole context; approvals are the last to add to it. */
import type { AccountsContext } from "#lib/accounts/context";
import type { UnknownKeys } from "#lib/keys/unknown-keys";
import type { WorldIdProvider } from "./world-id/provider";

export interface Context extends AccountsContext {
  unknownKeys: UnknownKeys;
  worldId: WorldIdProvider;
}
