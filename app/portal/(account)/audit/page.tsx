/** /portal/audit: who did what, when, with which key or session. */
import type { Metadata } from "next";
import { AuditTable, actorWords } from "#components/portal/organization/audit-table";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { Button } from "#components/ui/button";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { Field, Select } from "#components/ui/field";
import { actorKinds, auditFilters, cursorId } from "#lib/api/schemas/portal";
import { requirePortal } from "#lib/server/pages/portal-request";
import { listAuditEvents } from "#lib/services/accounts/audit-list";

export const metadata: Metadata = { title: "Audit log" };

const pageSize = 50;
const path = "/portal/audit";

interface PageProps {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function AuditPage({ searchParams }: PageProps) {
  const { context, person } = await requirePortal(path);
  const query = await searchParams;
  const { kind } = auditFilters.parse(query);
  const cursor = cursorId.parse(query["cursor"]);
  const { rows, nextCursor } = await listAuditEvents(context, person, { kind, cursor, limit: pageSize });
  const filter: Record<string, string> = kind === undefined ? {} : { kind };
  const buildLink = (more: Record<string, string>) =>
    `${path}?${new URLSearchParams({ ...filter, ...more })}`;
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Audit log"
        lead="Who did what in your organization, when, and with which key or session. It can't be edited."
      />
      <Card>
        <form key={kind ?? ""} action={path} method="get" className="mb-4 flex flex-wrap items-end gap-3">
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
          <Button type="submit" variant="secondary">
            Filter
          </Button>
        </form>
        <AuditTable rows={rows} empty={<p className="py-4 text-muted">No matching events.</p>} />
        <CursorPagination
          label="events"
          {...(cursor === undefined ? {} : { firstHref: buildLink({}) })}
          {...(nextCursor === null ? {} : { nextHref: buildLink({ cursor: nextCursor }) })}
        />
      </Card>
    </PortalPage>
  );
}
