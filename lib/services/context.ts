/** What every service works with: one plain object, built once at start (lib/http/context.ts). */
import type { Database } from "#lib/db/client";
import type { WitnessPolicySettings } from "#lib/domain/witness-policy";
import type { Logger } from "#lib/logger";
import type { Mailer } from "#lib/providers/mailer";
import type { WorldIdProvider } from "#lib/providers/world-id";
import type { FairQueue } from "./fair-queue";
import type { ForkGuard } from "./fork-guard";
import type { HealthCheck } from "./health";
import type { LogSequencer } from "./log-sequencer";
import type { RateLimiter } from "./rate-limit";
import type { SigningKeys } from "./signing-keys";
import type { UnknownKeys } from "./unknown-keys";
import type { Wakeups } from "./wakeups";
import type { ZkPool } from "./zk-worker-pool";

/** The part of the settings that services read; lib/env.ts has them all. */
export interface ServiceSettings {
  baseUrl: string;
  worldId: "local" | "portal";
  LOG_ORIGIN?: string | undefined;
  WITNESSES?: WitnessPolicySettings | undefined;
  LIMIT_ATTEST_PER_MINUTE: number;
  LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE: number;
  LIMIT_ATTEST_PER_DAY: number;
  LIMIT_AUTHORIZE_PENDING: number;
  LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: number;
  LIMIT_KEYS_PER_ORGANIZATION: number;
  LIMIT_KEY_CHANGES_PER_DAY: number;
}

/** Secrets of this service, each derived from AUTH_SECRET under a name of its own. */
export interface Secrets {
  emailCode: Uint8Array;
  approvalLink: Uint8Array;
  session: string;
}

export interface Context {
  settings: ServiceSettings;
  database: Database;
  clock: () => Date;
  random: (length: number) => Uint8Array;
  logger: Logger;
  secrets: Secrets;
  mailer: Mailer;
  limiter: RateLimiter;
  unknownKeys: UnknownKeys;
  health: HealthCheck;
  keys: SigningKeys;
  log: LogSequencer;
  guard: ForkGuard;
  wakeups: Wakeups;
  /** Costly proofs, off the request thread. */
  pool: ZkPool;
  worldId: WorldIdProvider;
  /** Questions to World's portal and chain go through here. */
  worldCalls: FairQueue;
}
