/** Who asks, and how the audit log names them. */
import type { Scope } from "#lib/api/schemas/key-choices";

/** A key that is known, whether or not it still works. */
export interface KnownKey {
  keyId: string;
  organizationId: string;
}

/** An API key, as its row and its organization's say. */
export interface KeyPrincipal extends KnownKey {
  kind: "key";
  /** Its text begins with `cs_test_`. */
  isTest: boolean;
  scopes: Scope[];
  defaultPublic: boolean;
  attestationsPerDay: number;
  ip: string;
  /** Who pressed a button of the portal, if the key is only what lets them. */
  person?: UserPrincipal;
}

/** A signed-in person. */
export interface UserPrincipal {
  kind: "user";
  userId: string;
  email: string;
  ip: string | null;
  /** Which session of the portal, as session-store.ts labels it. */
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
export function actorOf(principal: KeyPrincipal | UserPrincipal): Actor {
  if (principal.kind === "user")
    return { kind: "user", id: principal.email, ip: principal.ip, session: principal.session };
  return principal.person === undefined
    ? { kind: "key", id: principal.keyId, ip: principal.ip }
    : actorOf(principal.person);
}

/** With the scope, or with `hook` alone about a request that this very key made: see docs/wire.md, Authentication. */
export function mayReach(principal: Principal, scope: Scope, row: { api_key_id: string }): boolean {
  return principal.kind === "user" || principal.scopes.includes(scope) || principal.keyId === row.api_key_id;
}

/** False for what is somebody else's, and for the public (null). */
export function isOwnerOf(principal: Principal | null, row: { organization_id: string }): boolean {
  return principal?.organizationId === row.organization_id;
}
