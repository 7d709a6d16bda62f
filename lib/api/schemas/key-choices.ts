/** Choices offered when a key or a link is made. Forms in the browser load these without the server's checks. */

export const scopeNames = [
  "attest",
  "authorize",
  "identity",
  "read",
  "hook",
  "record",
  "freeze",
  "erase",
  "rules",
  "audit",
  "scim",
] as const;
export type Scope = (typeof scopeNames)[number];

export const visibilities = ["public", "private"] as const;
export type Visibility = (typeof visibilities)[number];

/** Roles of a person in an organization, the mightiest first (lib/services/accounts/members.ts says what each may). */
export const roleNames = ["owner", "admin", "approver", "auditor", "member"] as const;
export type Role = (typeof roleNames)[number];

export const secondFactors = ["owners", "members", "rules", "freeze", "erase"] as const;
export type SecondFactor = (typeof secondFactors)[number];

/** Days after which a link to an opened receipt or pack ends. */
export const openingLinkDays = ["1", "7", "30", "90"] as const;
export type OpeningLinkDays = (typeof openingLinkDays)[number];

/** Scopes that only an owner gives to a key. */
export const ownerScopes: readonly Scope[] = ["erase", "rules", "scim"];

/**
 * Default permissions of a new key: an agent must not be able to destroy the evidence against itself, to unfreeze itself or
 * to change the rules for itself, and `hook` and `record` allow nothing more.
 */
export const usualScopes = scopeNames.filter(
  (scope) => !["hook", "record", "freeze", "audit", ...ownerScopes].includes(scope),
);

/** Permissions by what a key is for; the portal offers each as one choice. */
export const keyPurposes = {
  agent: usualScopes,
  hook: ["hook"],
  hook_and_record: ["hook", "record"],
  attest: ["attest"],
  traces: ["record"],
  directory: ["scim"],
} as const satisfies Record<string, readonly Scope[]>;
export type KeyPurpose = keyof typeof keyPurposes;

/** Days until a key expires; absent: it does not. */
export const keyLifetimesDays = ["7", "30", "90", "365"] as const;
/** Hours for which a rotated key still works. */
export const overlapHours = ["0", "1", "24", "168"] as const;

/** Percent of the uses of a rule, or of standing approvals, that people review afterwards. */
export const reviewPercents = ["0", "1", "5", "10", "25", "100"] as const;
