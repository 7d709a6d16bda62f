/**
 * Who asks for an approval, as the page shows it and as `human_authorization` covers it: everything here is hashed whole,
 * so that the page can render nothing else.
 */
import { isJsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { OrganizationMark } from "#lib/protocol/text/organization-logo";

export interface VerifiedDomain {
  /** As DNS has it, IDNs in Punycode. */
  domain: string;
  /** The same as people write it. */
  unicode: string;
  verified_since: string;
  /** When a check last found the proof. */
  last_checked: string;
}

/** The agent's past when it asked. Counts end at {@link countedUpTo}. */
export interface AgentPast {
  /** Null if this is its first trace. */
  known_since: string | null;
  attestations: number;
  requests: number;
  denied: number;
}

export interface RequestedBy {
  /** The caller's own word for the person or system that asks; null if it said nothing. */
  requester: string | null;
  organization_mark: OrganizationMark;
  organization_domains: VerifiedDomain[];
  agent_past: AgentPast;
}

/** Counting stops here when a request is made: the number then means "this many or more". */
export const countedUpTo = 1000;

/** Checks happen daily: an older one means that the last ones did not find the proof. */
const freshMs = 2 * 86_400_000;

export function isFreshlyChecked({ last_checked }: VerifiedDomain, requestedAt: string): boolean {
  return Date.parse(requestedAt) - Date.parse(last_checked) <= freshMs;
}

/** The verified domains in words, from a file whose hash has been checked. */
export function describeDomains(requestedBy: JsonValue): string {
  const given = isJsonObject(requestedBy) ? requestedBy["organization_domains"] : undefined;
  if (!Array.isArray(given)) return "";
  const domains = given.filter(isJsonObject).map(({ domain, last_checked }) => {
    return `${String(domain)} (last checked ${String(last_checked)})`;
  });
  return `; verified domains: ${domains.join(", ") || "none"}`;
}
