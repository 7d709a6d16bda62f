/** An organization's names of its approvers and groups, for its own members: signed objects have ids. */
import { eq } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { approvers } from "#lib/db/schema";
import type { Names } from "#lib/protocol/record/facts";

export async function readNames(executor: Executor, organizationId: string): Promise<Names> {
  const rows = await executor
    .select({ id: approvers.id, name: approvers.name, email: approvers.email })
    .from(approvers)
    .where(eq(approvers.organization_id, organizationId));
  const named = rows.map(({ id, name, email }) => [id, name ?? email ?? "", email === null] as const);
  const pick = (isWanted: boolean) =>
    Object.fromEntries(named.filter(([, , isGroup]) => isGroup === isWanted).map(([id, name]) => [id, name]));
  return { groups: pick(true), approvers: pick(false) };
}
