/** The whole context; approvals are the last to add to it. */
import type { AccountsContext } from "#lib/accounts/context";
import type { FoundAgent } from "#lib/agents/agents";
import type { Callers } from "#lib/keys/callers";
import type { UnknownKeys } from "#lib/keys/unknown-keys";
import type { TimedCache } from "#lib/workers/timed-cache";
import type { WorldIdProvider } from "./world-id/provider";

export interface Context extends AccountsContext {
  unknownKeys: UnknownKeys;
  callers: Callers;
  /** Registered agents by slug key. */
  agents: TimedCache<FoundAgent>;
  worldId: WorldIdProvider;
}
