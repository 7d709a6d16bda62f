/**
 * Who says that they are looking at a request, so that others needn't. It comes from a button alone and is no part of the
 * request: nothing that is signed or decided depends on it. A person who is signed in holds reminders and the next turn
 * back for some minutes; an agent, who has the link too, holds nothing back.
 */
import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { UserPrincipal } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { approvers, looks } from "#lib/db/schema";
import type { Context } from "./context";
import { findOpen } from "./decision/decide";

/** For which a look counts. */
export const lookMinutes = 10;

/** Only of a request that waits. `user`: null for whoever has the link. */
export async function noteLook(
  context: Context,
  requestId: string,
  user: UserPrincipal | null,
): Promise<void> {
  const { organization_id } = await findOpen(context, requestId);
  const { db } = context.database;
  const [own] =
    user === null
      ? []
      : await db
          .select({ name: approvers.name })
          .from(approvers)
          .where(and(eq(approvers.organization_id, organization_id), eq(approvers.email, user.email)));
  const name = user === null ? "" : (own?.name ?? user.email);
  const set = { looked_at: sql`clock_timestamp()` };
  await db
    .insert(looks)
    .values({ request_id: requestId, name, ...set })
    .onConflictDoUpdate({ target: [looks.request_id, looks.name], set });
}

export async function readLooks(
  executor: Executor,
  requestId: string,
): Promise<{ name: string; at: string }[]> {
  const rows = await executor
    .select({ name: looks.name, at: looks.looked_at })
    .from(looks)
    .where(
      and(
        eq(looks.request_id, requestId),
        gt(looks.looked_at, sql`clock_timestamp() - make_interval(mins => ${lookMinutes})`),
      ),
    )
    .orderBy(asc(looks.looked_at));
  return rows.map(({ name, at }) => ({ name, at: at.toISOString() }));
}
