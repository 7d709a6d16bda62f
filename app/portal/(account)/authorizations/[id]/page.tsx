/** /portal/authorizations/<id>: one request in full. */
import type { Metadata } from "next";
import { AuthorizationFacts } from "#components/portal/authorization-facts";
import { AuthorizationStatusPill } from "#components/portal/authorization-status";
import { CancelAuthorizationDialog } from "#components/portal/cancel-authorization-dialog";
import { LiveRefresh } from "#components/portal/live-refresh";
import { PageHeading } from "#components/portal/page-heading";
import { PortalPage } from "#components/portal/shown-organization";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { CodeBlock } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import { orNotFound, requirePortal } from "#lib/http/portal-request";
import { readOwnAuthorization } from "#lib/services/portal-authorizations";
import { cancelRequest } from "./actions";

export const metadata: Metadata = { title: "Authorization" };

interface PageProps {
  readonly params: Promise<{ id: string }>;
}

export default async function AuthorizationPage({ params }: PageProps) {
  const { id } = await params;
  const { context, person } = await requirePortal(`/portal/authorizations/${id}`);
  const state = await orNotFound(readOwnAuthorization(context, person, id));
  return (
    <PortalPage organizationId={person.organizationId}>
      {state.status === "pending" ? <LiveRefresh /> : null}
      <PageHeading
        title="Authorization"
        lead={<TextLink href="/portal/authorizations">All authorizations</TextLink>}
        action={
          <AuthorizationStatusPill
            status={state.status}
            environment={state.environment}
            given={state.approvals.given}
          />
        }
      />
      {state.previously_denied ? (
        <div className="mb-5">
          <Callout tone="warn" title="A request like this one was denied within the last 24 hours">
            <TextLink href={`/portal/authorizations/${state.previously_denied.request_id}`}>
              See the denied one
            </TextLink>
          </Callout>
        </div>
      ) : null}
      <Card title="What was asked">
        <AuthorizationFacts state={state} />
      </Card>
      {state.approval_url === null ? null : (
        <Card title="For the human" className="mt-5">
          <p className="mb-4 max-w-prose text-muted">
            Whoever opens this link can decide. Send it only to the person who should.
          </p>
          <CodeBlock code={state.approval_url} label="approval link" wrap />
          <div className="mt-4">
            <CancelAuthorizationDialog action={cancelRequest} requestId={state.request_id} />
          </div>
        </Card>
      )}
    </PortalPage>
  );
}
