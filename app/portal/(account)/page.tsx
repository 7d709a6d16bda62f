/** /portal: the first steps until they are done, today's use against the limit, the last 30 days, what waits for a human, what came last. */
import type { Metadata } from "next";
import { AttestationTable } from "#components/portal/attestations/attestation-table";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { BusiestAgents, BusiestKeys } from "#components/portal/overview/busiest-tables";
import { FirstSteps } from "#components/portal/overview/first-steps";
import { NameOrganization } from "#components/portal/overview/name-organization";
import { NextStep } from "#components/portal/overview/next-step";
import { UsageChart } from "#components/portal/overview/usage-chart";
import { UsageTable } from "#components/portal/overview/usage-table";
import { PageHeading } from "#components/portal/shell/page-heading";
import { Card } from "#components/ui/card";
import { TextLink } from "#components/ui/text-link";
import { requirePortal } from "#lib/server/pages/portal-request";
import { mayAct } from "#lib/services/accounts/members";
import { readOverview } from "#lib/services/portal/overview";
import { begin, finish } from "./first-passkey-actions";
import { askForApproval, saveName, sendAttestation } from "./first-steps-actions";
import { createKey } from "./keys/actions";

type Overview = Awaited<ReturnType<typeof readOverview>>;

export const metadata: Metadata = { title: "Overview" };

function TodayCard({ used, limit }: { readonly used: number; readonly limit: number | null }) {
  if (limit === null)
    return (
      <Card title="Attestations today">
        <p className="font-semibold text-3xl tabular-nums">{used.toLocaleString("en")}</p>
        <p className="mt-2 text-muted text-sm">No daily limit.</p>
      </Card>
    );
  return (
    <Card title="Attestations today">
      <p className="font-semibold text-3xl tabular-nums">
        {used.toLocaleString("en")}{" "}
        <span className="font-normal text-lg text-muted">of {limit.toLocaleString("en")}</span>
      </p>
      <div aria-hidden="true" className="mt-3 h-2 overflow-hidden rounded-full bg-sunken">
        <div
          className={`h-full ${used >= limit * 0.8 ? "bg-fail-fill" : "bg-accent-fill"}`}
          style={{ width: `${Math.min(100, (used / limit) * 100)}%` }}
        />
      </div>
      <p className="mt-2 text-muted text-sm">Resets at 00:00 UTC.</p>
    </Card>
  );
}

function PendingCard({ pending }: { readonly pending: number }) {
  return (
    <Card title="Pending approvals">
      <p className="font-semibold text-3xl tabular-nums">{pending}</p>
      <p className="mt-2 text-muted text-sm">
        {pending === 0 ? "No pending approvals." : "Requests waiting for a decision."}
      </p>
      <p className="mt-3">
        <TextLink href="/portal/authorizations">View approvals</TextLink>
      </p>
    </Card>
  );
}

function WarnedCard({ warned: { count, from } }: Pick<Overview, "warned">) {
  return (
    <Card title="With warnings">
      <p className={`font-semibold text-3xl tabular-nums ${count === 0 ? "" : "text-warn"}`}>{count}</p>
      <p className="mt-2 text-muted text-sm">
        {count === 0
          ? "No warnings in the last 30 days."
          : "Attestations from the last 30 days that record something wrong or unproven."}
      </p>
      {count === 0 ? null : (
        <p className="mt-3">
          <TextLink href={`/portal/attestations?warnings=true&from=${from}`}>View them</TextLink>
        </p>
      )}
    </Card>
  );
}

/** Shown once an organization has done something: an empty chart says nothing. */
function Used({ overview, isTestSaid }: { readonly overview: Overview; readonly isTestSaid: boolean }) {
  return (
    <>
      <Card title="Last 30 days" className="mt-5">
        <UsageChart days={overview.usage} />
        <UsageTable days={overview.usage} />
      </Card>
      <Card title="Busiest keys" className="mt-5">
        <BusiestKeys rows={overview.busiest.keys} />
      </Card>
      <Card title="Busiest agents" className="mt-5">
        <BusiestAgents rows={overview.busiest.agents} />
      </Card>
      <Card title="Latest attestations" className="mt-5">
        <AttestationTable
          isTestSaid={isTestSaid}
          caption="Latest attestations"
          rows={overview.latest}
          empty={<p className="py-4 text-muted">No attestations yet.</p>}
        />
        <p className="mt-4">
          <TextLink href="/portal/attestations">All attestations</TextLink>
        </p>
      </Card>
    </>
  );
}

export default async function OverviewPage() {
  const { context, person, app, membership } = await requirePortal("/portal");
  const overview = await readOverview(context, person);
  const { hasKey, attestation, approval } = overview.firstSteps;
  const isBegun = hasKey && attestation !== null && approval?.isApproved === true;
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading title="Overview" />
      {overview.name === null && membership.role === "owner" ? (
        <NameOrganization action={saveName} isPublic={overview.defaultPublic} />
      ) : null}
      {isBegun && overview.nextStep !== null && membership.role === "owner" ? (
        <NextStep name={overview.nextStep} />
      ) : null}
      {mayAct(membership.role, "operate") ? (
        <FirstSteps
          steps={overview.firstSteps}
          createKey={createKey}
          base={app.env.baseUrl}
          isLoopback={app.env.isLoopback}
          isByPasskey={app.env.worldId === "none"}
          hasPasskeys={overview.hasPasskeys}
          addPasskey={
            overview.hasPasskeys || membership.role !== "owner"
              ? null
              : {
                  begin: begin.bind(null, person.organizationId),
                  finish: finish.bind(null, person.organizationId),
                }
          }
          sendAttestation={sendAttestation}
          askForApproval={askForApproval}
        />
      ) : null}
      <div className="grid gap-5 md:grid-cols-2 lg:grid-cols-3">
        <TodayCard used={overview.attestationsToday} limit={overview.attestationsPerDay} />
        <PendingCard pending={overview.pendingAuthorizations} />
        <WarnedCard warned={overview.warned} />
      </div>
      {attestation === null ? null : (
        <Used overview={overview} isTestSaid={context.worldId.environment !== "production"} />
      )}
    </PortalPage>
  );
}
