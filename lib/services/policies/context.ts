import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import type { AccountsContext } from "#lib/services/accounts/context";
import type { RulesEngine } from "./engine";

export interface RulesContext extends AccountsContext {
  rules: RulesEngine;
  worldId: { environment: WorldEnvironment };
}
