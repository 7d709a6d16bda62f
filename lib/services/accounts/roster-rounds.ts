/** Follow-up of a roster's changes, and of those that a dead process has left: retried until it is done. */
import { sql } from "drizzle-orm";
import { rowsOf } from "#lib/db/client";
import type { AccountsContext } from "./context";
import { mailOwners } from "./mail-owners";
import { rosterMail } from "./mails";
import { updateRoster } from "./roster";
import type { RosterChange } from "./roster-state";

const atOnce = 50;

/** Rosters whose change was committed a moment ago, and that no process has logged. */
async function updateStale(context: AccountsContext): Promise<void> {
  const stale = await rowsOf<{ organization_id: string }>(
    context.database.db,
    sql`SELECT organization_id FROM stale_rosters WHERE since < clock_timestamp() - interval '2 seconds'
      ORDER BY since LIMIT ${atOnce}`,
  );
  for (const { organization_id } of stale) await updateRoster(context, organization_id);
}

interface Due {
  organization_id: string;
  number: number;
  changes: string;
}

/** Taken for five minutes: then another process may think that this one died. */
async function takeMails(context: AccountsContext): Promise<Due[]> {
  return rowsOf<Due>(
    context.database.db,
    sql`UPDATE rosters SET mail_due_at = clock_timestamp() + interval '5 minutes'
      WHERE (organization_id, number) IN (
        SELECT organization_id, number FROM rosters WHERE mail_due_at <= clock_timestamp()
        ORDER BY mail_due_at LIMIT ${atOnce} FOR UPDATE SKIP LOCKED)
      RETURNING organization_id, number, changes`,
  );
}

/** Sent to every owner; if no mail goes out at all, all of it is tried again. */
async function sendRosterMails(context: AccountsContext): Promise<void> {
  for (const { organization_id: organizationId, number, changes } of await takeMails(context)) {
    const link = `${context.settings.baseUrl}/portal/approvers`;
    const list = JSON.parse(changes) as RosterChange[];
    const nothing = { sent: 0, failed: 0 };
    const { sent, failed } =
      list.length === 0
        ? nothing
        : await mailOwners(context, organizationId, "roster", (to) => rosterMail(to, link, number, list));
    if (sent === 0 && failed > 0) continue;
    await context.database.db.execute(
      sql`UPDATE rosters SET mail_due_at = NULL WHERE organization_id = ${organizationId}::uuid AND number = ${number}`,
    );
  }
}

export async function runRosterRound(context: AccountsContext): Promise<void> {
  await updateStale(context);
  await sendRosterMails(context);
}
