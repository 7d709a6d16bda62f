/** An organization as approvers see it: what it calls itself, and which domains it has proven. */

import { and, asc, eq, isNotNull } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { organizationDomains, organizations } from "#lib/db/schema";
import type { VerifiedDomain } from "#lib/protocol/approval/assign-groups";
import { deriveMark, type OrganizationMark } from "#lib/protocol/text/organization-name";
import { toUnicode } from "./domains";

export interface OrganizationIdentity {
  name: string | null;
  mark: OrganizationMark;
  domains: VerifiedDomain[];
}

type Marked = Pick<typeof organizations.$inferSelect, "name" | "mark_text" | "mark_color">;

export function toMark({ name, mark_text, mark_color }: Marked): OrganizationMark {
  const derived = deriveMark(name ?? "");
  return { text: mark_text ?? derived.text, color: mark_color ?? derived.color };
}

function describeProven(row: typeof organizationDomains.$inferSelect | null): VerifiedDomain[] {
  if (!row?.verified_since || !row.found_at) return [];
  const { domain, verified_since, found_at } = row;
  return [
    {
      domain,
      unicode: toUnicode(domain),
      verified_since: verified_since.toISOString(),
      last_checked: found_at.toISOString(),
    },
  ];
}

export async function readIdentity(
  executor: Executor,
  organizationId: string,
): Promise<OrganizationIdentity | null> {
  const { id } = organizations;
  const { organization_id, verified_since, domain } = organizationDomains;
  const rows = await executor
    .select({ organization: organizations, proven: organizationDomains })
    .from(organizations)
    .leftJoin(organizationDomains, and(eq(organization_id, id), isNotNull(verified_since)))
    .where(eq(id, organizationId))
    .orderBy(asc(verified_since), asc(domain));
  const [first] = rows;
  if (first === undefined) return null;
  return {
    name: first.organization.name,
    mark: toMark(first.organization),
    domains: rows.flatMap(({ proven }) => describeProven(proven)),
  };
}
