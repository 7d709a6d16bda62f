/** The whole context; approvals are the last to add to it. */
import type { FoundAgent } from "#lib/agents/agents";
import type { Callers } from "#lib/keys/callers";
import type { UnknownKeys } from "#lib/keys/unknown-keys";
import type { RulesContext } from "#lib/rules/context";
import type { TimedCache } from "#lib/workers/timed-cache";
import type { WorldIdProvider } from "./world-id/provider";

export interface Context extends RulesContext {
  unknownKeys: UnknownKeys;
  callers: Callers;
  /** Registered agents by slug key. */
  agents: TimedCache<FoundAgent>;
  worldId: WorldIdProvider;
}
