/** Groups that a request requires: the organization's, by name or id, each with enough enrolled members. */
import { and, eq, inArray, ne, or, sql } from "drizzle-orm";
import type { KeyPrincipal } from "#lib/api/http/context";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import { type Executor, queryRows } from "#lib/db/client";
import { apiKeys, approvers, organizations } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import {
  type AgentPast,
  countedUpTo,
  fillPlaces,
  type RequestedBy,
} from "#lib/protocol/approval/assign-groups";
import type { RequiredApprovers } from "#lib/protocol/approval/decided-by";
import type { ShownNames } from "#lib/protocol/approval/shown-content";
import { formatCount } from "#lib/protocol/text/display-text";
import { areGroups } from "#lib/services/accounts/approver-groups";
import type { OrganizationIdentity } from "#lib/services/accounts/domains";
import { requesterMayApprove } from "#lib/services/accounts/members";
import { readEnrolledMembers } from "#lib/services/accounts/roster-proofs";
import { type FoundAgent, slugKey } from "#lib/services/agents/agents";
import { byPeople } from "#lib/services/approvals/rows";
import { type Demands, MAX_APPROVALS } from "./evaluate-policy";

export type NamedGroup = RequiredApprovers & { name: string };

/** The approver who made the requesting key, if any, and whether they may count. */
export interface Requester {
  mayApprove: boolean;
  id: string | null;
}

const field = (index: number, name: string) => `required_approvers.${index}.${name}`;

function requireFit(groups: readonly NamedGroup[], { approvals_required: asked }: AuthorizeBody): void {
  const sum = groups.reduce((all, { count }) => all + count, 0);
  const ids = groups.map(({ group }) => group);
  const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (twice >= 0) throw fieldError("validation_error", field(twice, "group"), "is there twice");
  if (sum > MAX_APPROVALS)
    throw fieldError("validation_error", "required_approvers", `asks for ${sum} people, and 10 are the most`);
  if (typeof asked === "number" && asked !== sum)
    throw fieldError(
      "validation_error",
      "approvals_required",
      `must be ${sum}, the sum of required_approvers`,
    );
}

export async function readGroups(
  tx: Executor,
  organizationId: string,
  body: AuthorizeBody,
): Promise<NamedGroup[]> {
  const asked = body.required_approvers ?? [];
  if (asked.length === 0) {
    if (body.required_level === "none")
      throw fieldError("validation_error", "required_level", "can be none only with required_approvers");
    return [];
  }
  const wanted = asked.map(({ group }) => group);
  const found = await tx
    .select({ id: approvers.id, name: approvers.name })
    .from(approvers)
    .where(
      and(
        areGroups(organizationId),
        or(inArray(approvers.name, wanted), inArray(sql`${approvers.id}::text`, wanted)),
      ),
    );
  const groups = asked.map(({ group, count }, index) => {
    const known = found.find(({ name }) => name === group) ?? found.find(({ id }) => id === group);
    if (known?.name == null)
      throw fieldError("validation_error", field(index, "group"), "is not a group of your organization");
    return { group: known.id, name: known.name, count };
  });
  requireFit(groups, body);
  return groups;
}

/**
 * 422 if the groups can't give as many approvals as the caller (`own`) or the rules want of them: each person counts
 * for one group, and who asks for none unless the organization allows it.
 */
export async function requireEnrolled(
  tx: Executor,
  { required_approvers: required, groupNames }: Demands,
  requester: Requester,
  own: Demands,
): Promise<void> {
  const ids = required.map(({ group }) => group);
  const members = await readEnrolledMembers(tx, ids);
  const isLeftOut = !requester.mayApprove && requester.id !== null && members.delete(requester.id);
  const people = [...members.values()];
  const filled = fillPlaces(required, people);
  for (const [index, { group, count }] of required.entries()) {
    if ((filled[index] ?? 0) >= count) continue;
    const enrolled = people.filter((groups) => groups.includes(group)).length;
    const others = isLeftOut ? " besides who asks" : "";
    const has = `${formatCount(enrolled, "enrolled approver")}${others}`;
    const why = enrolled < count ? "" : ", and each person counts for one group";
    const isByRules = count > (own.required_approvers[index]?.count ?? 0);
    throw fieldError(
      "validation_error",
      field(index, "count"),
      `asks for ${count} of "${groupNames[index]}", which has ${has}${why}${isByRules ? "; your organization's rules ask for them" : ""}`,
    );
  }
}

export async function readRequester(
  tx: Executor,
  { organizationId, keyId, person }: Pick<KeyPrincipal, "organizationId" | "keyId" | "person">,
  { required_approvers: required }: Pick<Demands, "required_approvers">,
): Promise<Requester> {
  if (required.length === 0) return { mayApprove: false, id: null };
  const [row] = await tx
    .select({ mayApprove: requesterMayApprove, id: approvers.id })
    .from(organizations)
    .leftJoin(apiKeys, eq(apiKeys.id, keyId))
    .leftJoin(
      approvers,
      and(
        eq(approvers.organization_id, organizationId),
        eq(sql`lower(${approvers.email})`, sql`lower(coalesce(${person?.email ?? null}, ${apiKeys.email}))`),
        ne(approvers.status, "removed"),
      ),
    )
    .where(eq(organizations.id, organizationId));
  return { mayApprove: row?.mayApprove ?? false, id: row?.id ?? null };
}

/* Requester as the page will show it: read once, when the request is made, and hashed with it. */

/** Counts by walking one index up to the bound, however long the agent's record is. */
const countAtMost = (rows: ReturnType<typeof sql>) =>
  sql`(SELECT count(*)::int FROM (${rows} LIMIT ${countedUpTo}) AS counted)`;

type CountedPast = Omit<AgentPast, "known_since">;

export async function countPast(tx: Executor, slug: string): Promise<CountedPast | null> {
  const requests = sql`SELECT FROM authorization_requests WHERE agent_id = a.id`;
  const [counts = null] = await queryRows<CountedPast>(
    tx,
    sql`SELECT ${countAtMost(sql`SELECT FROM attestations WHERE agent_id = a.id`)} AS attestations,
      ${countAtMost(requests)} AS requests,
      ${countAtMost(sql`${requests} AND status = 'denied' AND ${sql.raw(byPeople("decided_by"))}`)} AS denied
      FROM agents AS a WHERE a.slug_key = ${slugKey(slug)}`,
  );
  return counts;
}

const describePast = (agent: FoundAgent | null, past: CountedPast | null): AgentPast =>
  agent === null || past === null
    ? { known_since: null, attestations: 0, requests: 0, denied: 0 }
    : { ...past, known_since: agent.created_at.toISOString() };

export interface Asker {
  names: Omit<ShownNames, "group_names">;
  requestedBy: RequestedBy;
}

export function describeAsker(
  organization: OrganizationIdentity | null,
  agent: FoundAgent | null,
  past: CountedPast | null,
  requester: string | null,
): Asker {
  if (organization === null) throw new Error("a key's organization is gone");
  return {
    names: { agent_name: agent?.name ?? null, organization_name: organization.name },
    requestedBy: {
      requester,
      organization_mark: organization.mark,
      organization_domains: organization.domains,
      agent_past: describePast(agent, past),
    },
  };
}
