/** Assigns each approver to one of the required groups, whatever groups they are in. */

import {
  canonicalHash,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import type { BackedApproval, BackedMethod } from "#lib/protocol/statement/human-approval";
import type { OrganizationMark } from "#lib/protocol/text/organization-name";
import type { RequiredApprovers } from "./decided-by";

/**
 * Most places of each group that the people can fill together, in the order of `required`. `people`: the ids of the groups that
 * each is in. An augmenting path for each person (Kuhn): there are at most 10 places.
 */
export function fillPlaces(
  required: readonly RequiredApprovers[],
  people: readonly (readonly string[])[],
): number[] {
  const places = required.flatMap(({ group, count }, index) =>
    Array.from({ length: count }, () => ({ group, index })),
  );
  const holders = new Map<number, number>();
  const seat = (person: number, tried: Set<number>): boolean =>
    places.some(({ group }, place) => {
      if (tried.has(place) || !people[person]?.includes(group)) return false;
      tried.add(place);
      const holder = holders.get(place);
      if (holder !== undefined && !seat(holder, tried)) return false;
      holders.set(place, person);
      return true;
    });
  for (const person of people.keys()) seat(person, new Set());
  const filled = required.map(() => 0);
  for (const place of holders.keys()) {
    const index = places[place]?.index;
    if (index !== undefined) filled[index] = (filled[index] ?? 0) + 1;
  }
  return filled;
}

/** Cosigners that are required: a witness, or `k` of a group whose members are witnesses and groups again. */
export type Quorum = string | { k: number; of: Quorum[] };

/** The least number of witnesses with which it can be met. */
export function fewestFor(quorum: Quorum): number {
  if (typeof quorum === "string") return 1;
  const each = quorum.of.map(fewestFor).sort((a, b) => a - b);
  return each.slice(0, quorum.k).reduce((sum, fewest) => sum + fewest, 0);
}

/*
 * Requester of an approval, as the page shows it and as `human_authorization` covers it: everything here is hashed whole, so
 * that the page can render nothing else.
 */

export interface VerifiedDomain {
  /** Domain in the form of DNS, IDNs in Punycode. */
  domain: string;
  /** The same as people write it. */
  unicode: string;
  verified_since: string;
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

/* Builds what an attestation records about the authorization that backs it, all of it derived from the object. */

const readText = (value: JsonValue | undefined) => (typeof value === "string" ? value : "");

/** Never personhood for what no person was asked about. */
export function chooseMethod(
  kind: JsonValue | undefined,
  types: readonly (JsonValue | undefined)[],
): BackedMethod {
  if (kind === "grant") return "standing_approval";
  if (kind === "rule") return "rule";
  if (!types.includes("passkey")) return "proof_of_personhood";
  return types.includes("world_id") ? "enrolled_proof_of_personhood" : "enrolled_approver";
}

/** The level that all World ID proofs reach; `none` if there are none. */
export function weakestLevel(levels: readonly (JsonValue | undefined)[]): BackedApproval["level"] {
  if (levels.length === 0) return "none";
  return levels.every((level) => level === "orb" || level === "proof_of_human") ? "orb" : "device";
}

/** `object`: whole, with its log entry. Null for what is no authorization; its shape is checked elsewhere. */
export function describeBacking(object: JsonObject): BackedApproval | null {
  const { request, binding, decided_by, approvals, environment } = object;
  if (!isJsonObject(request) || !isJsonObject(binding) || !isJsonObject(decided_by)) return null;
  if (!Array.isArray(approvals)) return null;
  const given = approvals.filter(isJsonObject);
  const proofs = given.filter(({ type }) => type === "world_id");
  const passkeys = given.filter(({ type }) => type === "passkey");
  return {
    method: chooseMethod(
      decided_by["kind"],
      given.map(({ type }) => type),
    ),
    level: weakestLevel(proofs.map(({ level }) => level)),
    request_hash: readText(binding["request_hash"]),
    authorization_hash: canonicalHash(object),
    nullifier_hashes: proofs.map((one) => readText(one["nullifier_hash"])),
    approver_ids: passkeys.map((one) => readText(one["approver_id"])),
    environment: readText(environment),
    inputs_bound: request["inputs_hash"] !== undefined,
  };
}
