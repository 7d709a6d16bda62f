/** /portal/authorizations/<id>: one request in full. */
import type { Metadata } from "next";
import { cache } from "react";
import { FrozenNotice } from "#components/approve/frozen-notice";
import { AllQuestions } from "#components/approve/questions";
import { AnswerForm } from "#components/portal/approvals/answer-form";
import { AuthorizationFacts } from "#components/portal/approvals/authorization-facts";
import { AuthorizationStatusPill, describeStatus } from "#components/portal/approvals/authorization-status";
import { TakeBackDialog } from "#components/portal/approvals/take-back-dialog";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { LiveRefresh } from "#components/portal/shell/live-refresh";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { CodeBlock } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import { orNotFound, requirePortal } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { readOwnAuthorization } from "#lib/services/approvals/portal-authorizations";
import { answer, cancelRequest, takeBack } from "./actions";

interface PageProps {
  readonly params: Promise<{ id: string }>;
}

/** Once for the page and its title. */
const readState = cache(async (id: string) => {
  const { context, person, membership } = await requirePortal(`/portal/authorizations/${id}`);
  const state = await readOwnAuthorization(context, person, id);
  return {
    person,
    mayStop: mayAct(membership.role, "stop"),
    mayAnswer: mayAct(membership.role, "operate"),
    state,
    isOver: state.end !== null && !state.attestation_id,
  };
});

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
  // The page itself says why there is none.
  const found = await readState((await params).id).catch(() => null);
  if (found === null) return { title: "Approval request" };
  const { state, isOver } = found;
  const status = describeStatus({
    status: state.status,
    amendedBy: state.amended_by,
    revokedAt: state.revoked_at,
    isOver,
  });
  return { title: `${status} · Approval request` };
}

async function AuthorizationPage({ params }: PageProps) {
  const { person, mayStop, mayAnswer, state, isOver } = await orNotFound(readState((await params).id));
  const { end } = state;
  const isPending = state.status === "pending";
  const isUsable =
    state.status === "approved" && state.revoked_at === null && state.attestation_id === null && end === null;
  const choices = state.isFrozen ? "deny" : "approve or deny";
  return (
    <PortalPage organizationId={person.organizationId}>
      {isPending ? <LiveRefresh /> : null}
      <PageHeading
        title="Approval request"
        lead={<TextLink href="/portal/authorizations">All approvals</TextLink>}
        action={
          <AuthorizationStatusPill
            amendedBy={state.amended_by}
            status={state.status}
            environment={state.environment}
            given={state.approvals.given}
            isTest={state.isTest}
            unattestedAt={state.unattested_at}
            revokedAt={state.revoked_at}
            isOver={isOver}
          />
        }
      />
      {state.previously_denied ? (
        <div className="mb-5">
          <Callout tone="warn" title="A request like this one was denied in the last 24 hours">
            <TextLink href={`/portal/authorizations/${state.previously_denied.request_id}`}>
              View the denied request
            </TextLink>
          </Callout>
        </div>
      ) : null}
      {state.isFrozen && (isPending || isUsable) ? (
        <div className="mb-5">
          <FrozenNotice isPending={isPending} />
        </div>
      ) : null}
      <Card title="Request">
        <AuthorizationFacts state={state} end={end} />
        {isUsable && mayStop ? (
          <div className="mt-5">
            <TakeBackDialog
              action={takeBack}
              requestId={state.request_id}
              state={(state.claimed_at ?? null) === null ? "approved" : "claimed"}
            />
          </div>
        ) : null}
      </Card>
      <div className="mt-5 flex flex-col gap-5 empty:hidden">
        <AllQuestions
          before={state.questionsBefore}
          questions={state.questions ?? []}
          isPending={isPending}
        />
        {isPending && mayAnswer ? (
          <AnswerForm action={answer} requestId={state.request_id} number={state.question?.number ?? null} />
        ) : null}
      </div>
      {state.approval_url === null ? null : (
        <Card title="Approval link" className="mt-5">
          <p className="mb-4 max-w-prose text-muted">
            {(state.required_approvers ?? []).length > 0
              ? `Only enrolled approvers of the required groups can ${choices}, with their passkeys.`
              : `Anyone with this link can ${choices}. Send it only to the person who should decide.`}
          </p>
          <CodeBlock code={state.approval_url} label="approval link" wrap />
          {mayStop ? (
            <div className="mt-4">
              <TakeBackDialog action={cancelRequest} requestId={state.request_id} state="pending" />
            </div>
          ) : null}
        </Card>
      )}
    </PortalPage>
  );
}

export default withNotFound(AuthorizationPage, PortalNotFound);
