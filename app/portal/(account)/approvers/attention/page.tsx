/** /portal/approvers/attention: how each group decides, by week, where an owner turned it on. */
import type { Metadata } from "next";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { buttonClass } from "#components/ui/button-style";
import { Card } from "#components/ui/card";
import { type Column, DataTable } from "#components/ui/data-table";
import { EmptyState } from "#components/ui/empty-state";
import { describeControl, Field, Input } from "#components/ui/field";
import { TextLink } from "#components/ui/text-link";
import { shownOrganizationField } from "#lib/api/schemas/form-state";
import { type AttentionWeek, hastyShare, minGroupPeople, readShare } from "#lib/protocol/approval/attention";
import { formatCount } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { requirePortal } from "#lib/server/pages/portal-request";
import { listApprovers } from "#lib/services/accounts/approvers";
import { mayAct } from "#lib/services/accounts/members";
import { readAttention } from "#lib/services/approvals/attention";
import { type GroupPlanted, readPlanted } from "#lib/services/approvals/planted";
import { arm, measure } from "./actions";

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
  { id: "read", header: "Read to the end", cell: (week) => toPercent(readShare(week)), numeric: true },
  { id: "hasty", header: "Within 3 s", cell: (week) => toPercent(hastyShare(week)), numeric: true },
];

/** "Caught 19 of 20 planted requests: 1 approved." */
function describeCounts({ caught, ended, ...others }: GroupPlanted["counts"]): string {
  const rest = [
    [others.approved, "approved"],
    [others.changed, "changed in something else"],
    [others.expired, "expired"],
    [others.withdrawn, "withdrawn"],
  ].flatMap(([number, words]) => (number === 0 ? [] : `${number} ${words}`));
  return `Caught ${caught} of ${formatCount(ended, "planted request")}${rest.length === 0 ? "" : `: ${rest.join(", ")}`}.`;
}

interface PlantedProps {
  readonly group: { id: string; name: string };
  readonly planted: GroupPlanted;
  readonly canChange: boolean;
}

function Planted({ group: { id, name }, planted: { perMonth, counts }, canChange }: PlantedProps) {
  const field = `planted-${id}`;
  return (
    <section className="mt-5 border-line border-t pt-4">
      <h3 className="font-semibold">Planted requests</h3>
      <p className="mt-1 text-muted">
        {perMonth === null
          ? "None are planted."
          : `${perMonth} in 30 days, at hours when the group is asked.`}
        {counts.ended === 0 ? null : ` ${describeCounts(counts)}`}
      </p>
      {canChange ? (
        <div className="mt-3">
          <ActionDialog
            triggerLabel="Plant requests"
            triggerDetail={` for ${name}`}
            title={`Plant requests for ${name}`}
            description="The group is asked about requests that no agent made: copies of real ones, with the payee, the amount or the agent made wrong. Nothing can run from them. Whoever decides one sees at once what was wrong. How many were caught is counted for the group, never for a person. Before you turn it on, tell its people, and your works council if you have one, that there will be such requests, but not when."
            action={arm}
            fields={{ group_id: id }}
            confirmLabel="Save"
            confirmVariant="primary"
          >
            <Field id={field} label="Requests in 30 days" hint="1 to 20. Empty: none." error={undefined}>
              <Input
                {...describeControl(field, { hint: true, error: undefined })}
                name="per_month"
                type="number"
                min={1}
                max={20}
                defaultValue={perMonth ?? ""}
              />
            </Field>
          </ActionDialog>
        </div>
      ) : null}
    </section>
  );
}

interface GroupCardProps {
  readonly group: Awaited<ReturnType<typeof listApprovers>>["groups"][number];
  readonly weeks: readonly AttentionWeek[] | undefined;
  readonly planted: GroupPlanted | undefined;
  readonly canChange: boolean;
}

function GroupCard({ group, weeks, planted, canChange }: GroupCardProps) {
  const { id, name, members, measuredSince } = group;
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
            triggerLabel={isOn ? "Stop measuring" : "Measure"}
            triggerDetail={` ${name}`}
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
      {planted === undefined ? null : <Planted group={group} planted={planted} canChange={canChange} />}
    </Card>
  );
}

export default async function AttentionPage() {
  const { context, person, membership } = await requirePortal(path);
  const { groups } = await listApprovers(context, person);
  const measured = await readAttention(context, person);
  const planted = await readPlanted(context, person);
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
            planted={planted.find((one) => one.group === group.id)}
            canChange={membership.role === "owner"}
          />
        ))
      )}
    </PortalPage>
  );
}
