/** /portal/webhooks: where messages about decisions and attestations go. */
import type { Metadata } from "next";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PublicKey } from "#components/portal/webhooks/public-key";
import { CreateWebhookForm, RotateWebhookDialog } from "#components/portal/webhooks/webhook-forms";
import { WebhookTable } from "#components/portal/webhooks/webhook-table";
import { ButtonLink } from "#components/ui/button-link";
import { Card } from "#components/ui/card";
import { EmptyState } from "#components/ui/empty-state";
import { TextLink } from "#components/ui/text-link";
import { requirePortal } from "#lib/server/pages/portal-request";
import { mayAct } from "#lib/services/accounts/members";
import { listOwnWebhooks } from "#lib/services/webhooks/deliveries";
import { createWebhook, rotateWebhook } from "./actions";

export const metadata: Metadata = { title: "Webhooks" };

const listen = "node countersign.mjs webhooks listen";

export default async function WebhooksPage() {
  const { context, person, membership } = await requirePortal("/portal/webhooks");
  const { rows, callbacks } = await listOwnWebhooks(context, person);
  const mayOperate = mayAct(membership.role, "operate");
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Webhooks"
        lead={
          <>
            Signed messages when a human decides or an agent attests.{" "}
            <TextLink href="/docs/webhooks">How to receive them</TextLink>
          </>
        }
        action={mayOperate ? <ButtonLink href="#new">Add an endpoint</ButtonLink> : null}
      />
      <Card title="All endpoints">
        <WebhookTable
          rows={rows}
          empty={
            <EmptyState
              title="No webhook endpoints yet"
              command={{ label: "Or print messages in a terminal", code: listen }}
            >
              Create one with the form below. If this instance runs on your machine, the command line can show
              its messages:
            </EmptyState>
          }
        />
      </Card>
      {mayOperate ? (
        <Card title="New endpoint" className="mt-5" id="new">
          <CreateWebhookForm action={createWebhook} />
        </Card>
      ) : null}
      <Card
        title="Callbacks"
        className="mt-5"
        action={mayOperate ? <RotateWebhookDialog action={rotateWebhook} webhookId={callbacks.id} /> : null}
      >
        <p className="max-w-prose text-muted">
          A request can name a callback_url of its own. All callbacks of your organization are signed with one
          secret: rotate it to see it.{" "}
          <TextLink href={`/portal/webhooks/${callbacks.id}`}>Deliveries</TextLink>
        </p>
        <p className="mt-3 text-sm">
          <span className="block text-muted">Public key</span>
          <PublicKey text={callbacks.public_key} label="public key of callbacks" />
        </p>
      </Card>
    </PortalPage>
  );
}
