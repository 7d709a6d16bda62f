/** /portal/audit: who did what, when, with which key or session. */
import type { Metadata } from "next";
import { AuditTable, actorWords } from "#components/portal/organization/audit-table";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { Button } from "#components/ui/button";
import { buttonClass } from "#components/ui/button-style";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { Field, Input, Select } from "#components/ui/field";
import { shownOrganizationField } from "#lib/api/schemas/form-state";
import { actorKinds, auditFilters, cursorId, exportFormats } from "#lib/api/schemas/portal";
import { requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { listAuditEvents } from "#lib/services/accounts/audit-list";
import { mayAct } from "#lib/services/accounts/members";

export const metadata: Metadata = { title: "Audit log" };

const pageSize = 50;
const path = "/portal/audit";

export default async function AuditPage({ searchParams }: SearchPageProps) {
  const { context, person, membership } = await requirePortal(path);
  const query = await searchParams;
  const filters = auditFilters.parse(query);
  const cursor = cursorId.parse(query["cursor"]);
  const { rows, nextCursor } = await listAuditEvents(context, person, {
    ...filters,
    cursor,
    limit: pageSize,
  });
  const { kind, from, until } = filters;
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const filter = Object.fromEntries(given);
  const linkOf = (more: Record<string, string>) => `${path}?${new URLSearchParams({ ...filter, ...more })}`;
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Audit log"
        lead="Who did what in your organization, when, and with which key or session. It can't be edited."
        action={
          mayAct(membership.role, "take_out") ? (
            <span className="flex gap-2">
              {exportFormats.map((format) => (
                <a
                  key={format}
                  href={`${path}/export?${new URLSearchParams({ ...filter, format, [shownOrganizationField]: person.organizationId })}`}
                  download
                  className={buttonClass("secondary", "small")}
                >
                  Export {format.toUpperCase()}
                </a>
              ))}
            </span>
          ) : null
        }
      />
      <Card>
        <form key={linkOf({})} action={path} method="get" className="mb-4 flex flex-wrap items-end gap-3">
          <div className="w-56">
            <Field id="filter-kind" label="Actor">
              <Select id="filter-kind" name="kind" defaultValue={kind ?? ""}>
                <option value="">anyone</option>
                {actorKinds.map((name) => (
                  <option key={name} value={name}>
                    {actorWords[name]}
                  </option>
                ))}
              </Select>
            </Field>
          </div>
          {(
            [
              ["from", "From", from],
              ["until", "Until", until],
            ] as const
          ).map(([name, label, value]) => (
            <Field key={name} id={`filter-${name}`} label={label}>
              <Input id={`filter-${name}`} name={name} type="date" defaultValue={value ?? ""} />
            </Field>
          ))}
          <Button type="submit" variant="secondary">
            Filter
          </Button>
        </form>
        <AuditTable rows={rows} empty={<p className="py-4 text-muted">No matching events.</p>} />
        <CursorPagination
          label="events"
          {...(cursor === undefined ? {} : { firstHref: linkOf({}) })}
          {...(nextCursor === null ? {} : { nextHref: linkOf({ cursor: nextCursor }) })}
        />
      </Card>
    </PortalPage>
  );
}
