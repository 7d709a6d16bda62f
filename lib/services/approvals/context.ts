/** The whole context; approvals are the last to add to it. */

import type { TimedCache } from "#lib/jobs/bounded-memo";
import type { FoundAgent } from "#lib/services/agents/agents";
import type { WorldIdProvider } from "#lib/services/approvals/world-id/provider";
import type { Callers, InvalidKeyThrottle } from "#lib/services/keys/authenticate";
import type { RulesContext } from "#lib/services/policies/engine";

export interface Context extends RulesContext {
  invalidKeyThrottle: InvalidKeyThrottle;
  callers: Callers;
  /** Registered agents by slug key. */
  agents: TimedCache<FoundAgent>;
  /** Organization, agent and tool whose last call a standing approval decided alone, where no rules are asked. */
  unasked: TimedCache<true>;
  worldId: WorldIdProvider;
}
