/** Who is asking, and who the audit log names. */
import type { Scope } from "#lib/contract/primitives";

export interface Actor {
  kind: "key" | "user" | "human" | "system";
  /** A key's id, a person's e-mail address; never a secret. */
  id: string;
  ip: string | null;
  /** Which session of the portal, as session-store.ts labels it. */
  session?: string;
}

/** Who is asking, as the key's row and its organization's say. */
export interface Caller {
  keyId: string;
  organizationId: string;
  scopes: Scope[];
  defaultPublic: boolean;
  attestationsPerDay: number;
}
