/** Endpoints that end by themselves: one that says it is gone, and one that has failed for days. Its owners get an email. */
import { sql } from "drizzle-orm";
import { rowsOf } from "#lib/db/client";
import { recordAudit } from "#lib/services/accounts/audit";
import { mailOwners } from "#lib/services/accounts/mail-owners";
import { webhookDisabledMail } from "#lib/services/accounts/mails";
import type { Context } from "#lib/services/approvals/context";
import { type EndpointRow, failWaiting } from "./endpoints";

const failingDays = 5;
const failingTime = sql.raw(`interval '${failingDays} days'`);

/** True for the one that disabled it. */
async function disable(
  context: Context,
  endpoint: EndpointRow,
  reason: "gone" | "failing",
): Promise<boolean> {
  return context.database.db.transaction(async (tx) => {
    const disabled = await rowsOf(
      tx,
      sql`UPDATE webhook_endpoints SET disabled_at = clock_timestamp(), disabled_reason = ${reason}
        WHERE id = ${endpoint.id} AND url = ${endpoint.url} AND disabled_at IS NULL
          AND (${reason} = 'gone' OR failing_since <= clock_timestamp() - ${failingTime}) RETURNING id`,
    );
    if (disabled.length === 0) return false;
    await failWaiting(tx, endpoint.id);
    await recordAudit(context, tx, {
      organizationId: endpoint.organization_id,
      actor: { kind: "system", id: "webhooks", ip: null },
      action: "webhook.disabled",
      subject: endpoint.id,
      detail: { url: endpoint.url, reason },
    });
    return true;
  });
}

async function tellOwners(
  context: Context,
  endpoint: EndpointRow,
  reason: "gone" | "failing",
): Promise<void> {
  const link = `${context.settings.baseUrl}/portal/webhooks/${endpoint.id}`;
  const why = reason === "gone" ? "it answered 410 Gone" : `every attempt failed for ${failingDays} days`;
  await mailOwners(context, endpoint.organization_id, "webhooks", (to) => webhookDisabledMail(to, link, why));
}

/** After a failed attempt. Callbacks share no receiver, so none of them speaks for the others. */
export async function disableIfHopeless(
  context: Context,
  endpoint: EndpointRow,
  status: number | null,
): Promise<void> {
  if (endpoint.url === null) return;
  const { rows } = await context.database.query(
    "UPDATE webhook_endpoints SET failing_since = clock_timestamp() WHERE id = $1 AND url = $2 AND failing_since IS NULL RETURNING id",
    [endpoint.id, endpoint.url],
  );
  const reason = status === 410 ? "gone" : "failing";
  if (rows.length > 0 && reason === "failing") return;
  if (await disable(context, endpoint, reason)) await tellOwners(context, endpoint, reason);
}
