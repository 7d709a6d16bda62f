/**
 * The context: one plain object, built once at start (lib/server/app.ts). Each feature adds its own part, so that its type
 * says what a function can reach: http → log → accounts → approvals, which has all of it.
 */

import type { Scope } from "#lib/api/schemas/key-choices";
import type { Database } from "#lib/db/client";
import type { Replica } from "#lib/db/postgres/replica";
import type { Wakeups } from "#lib/db/pubsub";
import type { FairQueue } from "#lib/jobs/fair-queue";
import type { ZkPool } from "#lib/jobs/zk-worker-pool";
import type { Logger } from "#lib/logger";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";
import type { HealthCheck } from "./health";
import type { IdempotencyLeases } from "./idempotency";
import type { RateLimiter } from "./rate-limit";
import type { RequestLog } from "./request-log";
import type { ResponseCache } from "./response-cache";

export interface ServiceSettings {
  baseUrl: string;
  worldId: "local" | "portal" | "none";
  mail: "resend" | "smtp" | "mailbox";
  DEFAULT_VISIBILITY: "private" | "public";
  OIDC_ENFORCED: "on" | "off";
  /** Undefined: the provider's groups aren't read. */
  OIDC_GROUPS_CLAIM?: string | undefined;
  SIGN_UP: "open" | "invited" | "domains";
  SIGN_UP_DOMAINS: readonly string[];
  LOG_ORIGIN?: string | undefined;
  WITNESSES?: WitnessPolicySettings | undefined;
  LOG_STORE_SECONDS: number;
  TSA_URLS: readonly string[];
  LIMIT_ATTEST_PER_MINUTE: number;
  LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE: number;
  /** Undefined: no limit. */
  LIMIT_ATTEST_PER_DAY?: number | undefined;
  LIMIT_AUTHORIZE_PENDING: number;
  LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: number;
  LIMIT_KEYS_PER_ORGANIZATION: number;
  LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR: number;
  LIMIT_KEY_CHANGES_PER_DAY: number;
  LIMIT_DEMO_PER_IP_PER_HOUR: number;
  LIMIT_NOTICES_PER_ADDRESS_PER_HOUR: number;
  LIMIT_NOTICES_PER_ORGANIZATION_PER_HOUR: number;
  /** Undefined: kept permanently. */
  AUDIT_LOG_DAYS?: number | undefined;
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT?: string | undefined;
  OTEL_SERVICE_NAME: string;
  WEBHOOK_ALLOWED_HOSTS: readonly string[];
  REQUEST_LOG_DAYS: number;
  isDemoOn: boolean;
}

export interface Secrets {
  emailCode: Uint8Array;
  approvalLink: Uint8Array;
  /** Authenticates approvers' choices by the links in their mails. */
  approverLink: Uint8Array;
  mcpState: Uint8Array;
  /** Private VAPID key, 48 bytes from which its scalar is made (lib/services/notifications/push.ts). */
  webPush: Uint8Array;
  /** Seals the keys of webhook endpoints. */
  webhookKeys: Uint8Array;
  /** Marks browsers in which somebody signed in. */
  knownDevice: Uint8Array;
  session: string;
}

/** Begins when this process is about to stop, and another one is there to be asked. */
export interface Draining {
  hasBegun: boolean;
}

export interface HttpContext {
  settings: ServiceSettings;
  database: Database;
  clock: () => Date;
  random: (length: number) => Uint8Array;
  logger: Logger;
  secrets: Secrets;
  limiter: RateLimiter;
  replica: Replica | null;
  health: HealthCheck;
  leaving: Draining;
  wakeups: Wakeups;
  answers: ResponseCache;
  requestLog: RequestLog;
  idempotencyLeases: IdempotencyLeases;
  pool: ZkPool;
  worldCalls: FairQueue;
}

/* Callers, and their names in the audit log. */

/** A key that is known, whether or not it still works. */
export interface KnownKey {
  keyId: string;
  organizationId: string;
}

export interface KeyPrincipal extends KnownKey {
  kind: "key";
  /** True if its text begins with `cs_test_`. */
  isTest: boolean;
  scopes: Scope[];
  defaultPublic: boolean;
  attestationsPerDay: number;
  ip: string;
  /** The person who pressed a button of the portal, if the key is only their means. */
  person?: UserPrincipal;
}

export interface UserPrincipal {
  kind: "user";
  userId: string;
  email: string;
  ip: string | null;
  session: string;
}

/** A signed-in person who acts for an organization. Whether they belong to it is looked up each time (requireRole). */
export interface MemberPrincipal extends UserPrincipal {
  organizationId: string;
}

/** A key or person that acts for an organization: what belongs to it is theirs to see, and the public's if it is public. */
export type Principal = KeyPrincipal | MemberPrincipal;

export interface Actor {
  kind: "key" | "user" | "human" | "system";
  /** A key's id, a person's email address; never a secret. */
  id: string;
  ip: string | null;
  session?: string;
}

/** A person's act names the person, also if they act as a key. */
export function toActor(principal: KeyPrincipal | UserPrincipal): Actor {
  if (principal.kind === "user")
    return { kind: "user", id: principal.email, ip: principal.ip, session: principal.session };
  return principal.person === undefined
    ? { kind: "key", id: principal.keyId, ip: principal.ip }
    : toActor(principal.person);
}

/** Allows the scope, or `hook` alone for a request that this very key made: see docs/wire.md, Authentication. */
export function mayReach(principal: Principal, scope: Scope, row: { api_key_id: string }): boolean {
  return principal.kind === "user" || principal.scopes.includes(scope) || principal.keyId === row.api_key_id;
}

/** False for what is somebody else's, and for the public (null). */
export function ownsRow(principal: Principal | null, row: { organization_id: string }): boolean {
  return principal?.organizationId === row.organization_id;
}
