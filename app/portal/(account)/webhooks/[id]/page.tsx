/** /portal/webhooks/<id>: one endpoint, and what was sent to it. */
import type { Metadata } from "next";
import { AgentText } from "#components/agent-text";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { LiveRefresh } from "#components/portal/shell/live-refresh";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { DeliveryTable } from "#components/portal/webhooks/delivery-table";
import { PublicKey } from "#components/portal/webhooks/public-key";
import {
  DeleteWebhookDialog,
  EditWebhookForm,
  RotateWebhookDialog,
  WebhookButton,
} from "#components/portal/webhooks/webhook-forms";
import { WebhookState } from "#components/portal/webhooks/webhook-table";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { DefinitionList } from "#components/ui/definition-list";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { deliveryFilters } from "#lib/api/schemas/portal";
import type { Webhook } from "#lib/api/schemas/webhooks";
import { orNotFound, requirePortal } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { readOwnWebhook } from "#lib/services/webhooks/deliveries";
import {
  deleteWebhook,
  editWebhook,
  enableWebhook,
  replayDelivery,
  rotateWebhook,
  testWebhook,
} from "./actions";

export const metadata: Metadata = { title: "Webhook" };

const pageSize = 20;

interface PageProps {
  readonly params: Promise<{ id: string }>;
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

function listFacts({ public_key, old_keys_until, failing_since, created_at }: Webhook) {
  const until = (iso: string) => <Timestamp iso={iso} relative={false} />;
  return [
    { id: "key", name: "Public key", value: <PublicKey text={public_key} label="public key" /> },
    ...(old_keys_until === null
      ? []
      : [{ id: "old", name: "Old secret expires", value: until(old_keys_until) }]),
    ...(failing_since === null
      ? []
      : [{ id: "failing", name: "Failing since", value: until(failing_since) }]),
    { id: "created", name: "Created", value: until(created_at) },
  ];
}

function Actions({ webhook }: { readonly webhook: Webhook }) {
  const { id, url, enabled } = webhook;
  return (
    <div className="mt-4 flex flex-wrap items-start gap-3">
      {enabled && url !== null ? (
        <WebhookButton action={testWebhook} fields={{ webhook_id: id }}>
          Send test message
        </WebhookButton>
      ) : null}
      <RotateWebhookDialog action={rotateWebhook} webhookId={id} />
      <WebhookButton action={enableWebhook} fields={{ webhook_id: id, enabled: String(!enabled) }}>
        {enabled ? "Disable" : "Enable"}
      </WebhookButton>
      <DeleteWebhookDialog action={deleteWebhook} webhookId={id} />
    </div>
  );
}

async function WebhookPage({ params, searchParams }: PageProps) {
  const { id } = await params;
  const path = `/portal/webhooks/${id}`;
  const { context, person, membership } = await requirePortal(path);
  const { cursor } = deliveryFilters.parse(await searchParams);
  const query = { limit: pageSize, cursor };
  const { webhook, deliveries, next_cursor } = await orNotFound(readOwnWebhook(context, person, id, query));
  const { url, enabled } = webhook;
  const mayOperate = mayAct(membership.role, "operate");
  return (
    <PortalPage organizationId={person.organizationId}>
      {deliveries.some((row) => row.status === "pending") ? <LiveRefresh /> : null}
      <PageHeading
        title={url === null ? "Callbacks" : <AgentText value={url} hideWarnings />}
        lead={<TextLink href="/portal/webhooks">All webhooks</TextLink>}
        action={<WebhookState webhook={webhook} />}
      />
      <Card title="Endpoint">
        <DefinitionList items={listFacts(webhook)} />
        {mayOperate ? <Actions webhook={webhook} /> : null}
      </Card>
      {url === null || !mayOperate ? null : (
        <Card title="Settings" className="mt-5">
          <EditWebhookForm action={editWebhook} webhook={{ ...webhook, url }} />
        </Card>
      )}
      <Card title="Deliveries" className="mt-5">
        <DeliveryTable
          rows={deliveries}
          showUrl={url === null}
          actions={({ message_id }) =>
            enabled && mayOperate ? (
              <WebhookButton action={replayDelivery} fields={{ webhook_id: id, message_id }}>
                Send again<span className="sr-only"> {message_id}</span>
              </WebhookButton>
            ) : (
              <span className="text-muted">none</span>
            )
          }
          empty={<p className="py-4 text-muted">Nothing has been sent in the last 30 days.</p>}
        />
        <CursorPagination
          label="deliveries"
          {...(cursor === undefined ? {} : { firstHref: path })}
          {...(next_cursor === null ? {} : { nextHref: `${path}?cursor=${next_cursor}` })}
        />
      </Card>
    </PortalPage>
  );
}

export default withNotFound(WebhookPage, PortalNotFound);
