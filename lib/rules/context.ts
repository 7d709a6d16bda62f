/** What rules add to the context. */
import type { AccountsContext } from "#lib/accounts/context";
import type { WorldEnvironment } from "#lib/core/world-id/world-id-keys";
import type { RulesEngine } from "./engine";

export interface RulesContext extends AccountsContext {
  rules: RulesEngine;
  worldId: { environment: WorldEnvironment };
}
