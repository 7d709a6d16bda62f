/** What every service works with: one plain object, built once at start (lib/app/app.ts). */

import type { WorldIdProvider } from "#lib/approvals/world-id/provider";
import type { Database } from "#lib/db/client";
import type { Wakeups } from "#lib/db/wakeups";
import type { WitnessPolicySettings } from "#lib/domain/witness-policy";
import type { UnknownKeys } from "#lib/keys/unknown-keys";
import type { ForkGuard } from "#lib/log/fork-guard";
import type { LogSequencer } from "#lib/log/sequencer";
import type { Logger } from "#lib/logger";
import type { Mailer } from "#lib/mail/mailer";
import type { SigningKeys } from "#lib/signing/signing-keys";
import type { FairQueue } from "#lib/workers/fair-queue";
import type { ZkPool } from "#lib/workers/zk-worker-pool";
import type { HealthCheck } from "./health";
import type { RateLimiter } from "./rate-limit";

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
