/** /portal/approvers/attention: how each group decides, by week, where an owner turned it on. */
import type { Metadata } from "next";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { buttonClass } from "#components/ui/button-style";
import { Card } from "#components/ui/card";
import { type Column, DataTable } from "#components/ui/data-table";
import { EmptyState } from "#components/ui/empty-state";
import { TextLink } from "#components/ui/text-link";
import { shownOrganizationField } from "#lib/api/schemas/form-state";
import { type AttentionWeek, hastyShare, minGroupPeople } from "#lib/protocol/approval/attention";
import { readableTime } from "#lib/protocol/time/time-words";
import { requirePortal } from "#lib/server/pages/portal-request";
import { listApprovers } from "#lib/services/accounts/approvers";
import { mayAct } from "#lib/services/accounts/members";
import { readAttention } from "#lib/services/approvals/attention";
import { measure } from "./actions";

export const metadata: Metadata = { title: "Attention" };

const path = "/portal/approvers/attention";
const none = "–";

function toDuration(ms: number | null): string {
  if (ms === null) return none;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

function toPercent(share: number | null): string {
  return share === null ? none : `${Math.round(share * 100)} %`;
}

const columns: readonly Column<AttentionWeek>[] = [
  { id: "week", header: "Week of", cell: ({ week }) => week, isRowHeader: true },
  { id: "approved", header: "Approved", cell: ({ approved }) => approved, numeric: true },
  { id: "denied", header: "Denied", cell: ({ denied }) => denied, numeric: true },
  { id: "amended", header: "Changed", cell: ({ amended }) => amended, numeric: true },
  { id: "expired", header: "Expired", cell: ({ expired }) => expired, numeric: true },
  { id: "median", header: "Median", cell: ({ median_ms }) => toDuration(median_ms), numeric: true },
  { id: "p90", header: "90 % within", cell: ({ p90_ms }) => toDuration(p90_ms), numeric: true },
  { id: "hasty", header: "Within 3 s", cell: (week) => toPercent(hastyShare(week)), numeric: true },
];

interface GroupCardProps {
  readonly group: Awaited<ReturnType<typeof listApprovers>>["groups"][number];
  readonly weeks: readonly AttentionWeek[] | undefined;
  readonly canChange: boolean;
}

function GroupCard({ group: { id, name, members, measuredSince }, weeks, canChange }: GroupCardProps) {
  const isOn = measuredSince !== null;
  const isSmall = members.length < minGroupPeople;
  return (
    <Card title={name} className="mt-5">
      {isOn ? <p className="mb-4 text-muted">Measured since {readableTime(measuredSince)}.</p> : null}
      {isSmall ? (
        <p className="text-muted">
          A group of fewer than {minGroupPeople} people isn't measured: its numbers would be a person's.
        </p>
      ) : null}
      {isOn && !isSmall ? (
        <DataTable
          caption={`Attention of ${name}, newest week first`}
          columns={columns}
          rows={[...(weeks ?? [])].reverse()}
          rowKey={({ week }) => week}
          empty={<p>Nothing was decided yet.</p>}
        />
      ) : null}
      {isOn || isSmall ? null : <p className="text-muted">Not measured.</p>}
      {canChange && (isOn || !isSmall) ? (
        <div className="mt-4">
          <ActionDialog
            triggerLabel={
              <>
                {isOn ? "Stop measuring" : "Measure"}
                <span className="sr-only"> {name}</span>
              </>
            }
            title={isOn ? "Stop measuring" : "Measure this group"}
            description={
              isOn
                ? "Its numbers are no longer shown, and no longer in new evidence packs."
                : "From now on, all members see how fast the group as a whole decides, and evidence packs with private content have it. Tell its people, and your works council if you have one, before you turn it on."
            }
            action={measure}
            fields={{ group_id: id, measured: isOn ? "no" : "yes" }}
            confirmLabel={isOn ? "Stop" : "Measure"}
            confirmVariant="primary"
          />
        </div>
      ) : null}
    </Card>
  );
}

export default async function AttentionPage() {
  const { context, person, membership } = await requirePortal(path);
  const { groups } = await listApprovers(context, person);
  const measured = await readAttention(context, person);
  const query = new URLSearchParams({ [shownOrganizationField]: person.organizationId });
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Attention"
        lead={
          <>
            How a group decides what requires it, from request to decision, by week (UTC). Never by person.
            Fast isn't careless, and slow isn't careful: a decision within three seconds of the request was
            hardly read.{" "}
            <TextLink href="/docs/approvers#attention-of-a-group">What is stored, and who sees it</TextLink>
          </>
        }
        action={
          measured.length > 0 && mayAct(membership.role, "take_out") ? (
            <a href={`${path}/export?${query}`} download className={buttonClass("secondary", "small")}>
              Export CSV
            </a>
          ) : null
        }
      />
      {groups.length === 0 ? (
        <EmptyState title="No groups">
          Create a group under <TextLink href="/portal/approvers">Approvers</TextLink>.
        </EmptyState>
      ) : (
        groups.map((group) => (
          <GroupCard
            key={group.id}
            group={group}
            weeks={measured.find((one) => one.group === group.id)?.weeks}
            canChange={membership.role === "owner"}
          />
        ))
      )}
    </PortalPage>
  );
}
