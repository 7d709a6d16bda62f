/**
 * Statement that logs a version of an organization's rules. Everyone can list the service's own statements, so this one
 * names the organization by a hash: whoever knows its id finds every version.
 *
 *     organization = hex SHA-256("countersign rules v1\n" || organization id)
 */
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { buildStatement, parseCanonical, RULESET_PREDICATE } from "#lib/protocol/statement/statement";
import type { RulesFallback } from "./evaluate-rules";

export const rulesModes = ["off", "log_only", "enforce"] as const;
export type RulesMode = (typeof rulesModes)[number];

export interface RulesetVersion {
  /** The organization's id. */
  organization: string;
  /** From 1. */
  number: number;
  /** Hex SHA-256 of the statement of the version before; null for the first. */
  previous: string | null;
  ruleset_hash: string;
  mode: RulesMode;
  fallback: RulesFallback;
  changed_at: string;
  /** The service's key that signs the statement. */
  key_id: string;
}

export const rulesOrganization = (organizationId: string): string =>
  hexEncode(sha256(utf8Encode(`countersign rules v1\n${organizationId}`)));

export function buildRulesetStatement({
  ruleset_hash,
  organization,
  ...version
}: RulesetVersion): Uint8Array {
  return buildStatement(RULESET_PREDICATE, "ruleset", ruleset_hash, {
    ...version,
    organization: rulesOrganization(organization),
  });
}

/** Whose rules, and which, if the statement says that they are enforced; null for any other. */
export function parseEnforcedRules(
  payload: Uint8Array,
): Pick<RulesetVersion, "organization" | "ruleset_hash"> | null {
  const statement = parseCanonical(payload);
  const { predicate, subject } = statement?.["predicateType"] === RULESET_PREDICATE ? statement : {};
  const first = Array.isArray(subject) ? subject[0] : null;
  const digest = isJsonObject(first) ? first["digest"] : null;
  if (!isJsonObject(predicate) || !isJsonObject(digest) || predicate["mode"] !== "enforce") return null;
  return { organization: String(predicate["organization"]), ruleset_hash: String(digest["sha256"]) };
}
