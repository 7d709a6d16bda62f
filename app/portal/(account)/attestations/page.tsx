/** /portal/attestations: the organization's own, private ones included; search, filters, export. */
import type { Metadata } from "next";
import { AmountOrder } from "#components/amount-column";
import { attestCommand } from "#components/commands";
import { AttestationFilterForm } from "#components/portal/attestations/attestation-filters";
import { AttestationTable } from "#components/portal/attestations/attestation-table";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { ButtonLink } from "#components/ui/button-link";
import { buttonClass } from "#components/ui/button-style";
import { Card } from "#components/ui/card";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { EmptyState } from "#components/ui/empty-state";
import { shownOrganizationField } from "#lib/api/schemas/form-state";
import { type AttestationFilters, attestationFilters, cursorText } from "#lib/api/schemas/portal";
import { orNotFound, requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { listAgentSlugs, listOwnAttestations } from "#lib/services/attestations/own";

export const metadata: Metadata = { title: "Attestations" };

const pageSize = 25;

function buildLink(path: string, filters: AttestationFilters, more: Record<string, string> = {}): string {
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = new URLSearchParams([...given, ...Object.entries(more)]).toString();
  return query === "" ? path : `${path}?${query}`;
}

interface ExportLinksProps {
  readonly filters: AttestationFilters;
  readonly organizationId: string;
}

function ExportLinks({ filters, organizationId }: ExportLinksProps) {
  return (
    <div className="flex flex-wrap gap-2">
      {(["csv", "ndjson"] as const).map((format) => (
        <a
          key={format}
          href={buildLink("/portal/attestations/export", filters, {
            format,
            [shownOrganizationField]: organizationId,
          })}
          download
          className={buttonClass("secondary", "small")}
        >
          Export {format === "csv" ? "CSV" : "NDJSON"}
        </a>
      ))}
      <ButtonLink
        href={filters.agent === undefined ? "/portal/evidence" : `/portal/evidence?agent=${filters.agent}`}
        variant="secondary"
        size="small"
      >
        Evidence pack
      </ButtonLink>
    </div>
  );
}

function NothingFound({ isFiltered, baseUrl }: { readonly isFiltered: boolean; readonly baseUrl: string }) {
  if (isFiltered) {
    return (
      <EmptyState
        title="No matching attestations"
        action={<ButtonLink href="/portal/attestations">Show all attestations</ButtonLink>}
      >
        Search matches part of the action, or a complete id, hash or link.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="No attestations yet"
      command={{ label: "Record your first action", code: attestCommand(baseUrl) }}
    >
      With an API key in COUNTERSIGN_API_KEY, paste this into a shell:
    </EmptyState>
  );
}

async function AttestationsPage({ searchParams }: SearchPageProps) {
  const { context, person, app, membership } = await requirePortal("/portal/attestations");
  const query = await searchParams;
  const filters = attestationFilters.parse(query);
  const cursor = cursorText.parse(query["cursor"]);
  const isSorted = query["sort"] === "amount";
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const slugs = await listAgentSlugs(context, person);
  const { rows, nextCursor } = await orNotFound(
    listOwnAttestations(context, person, filters, { cursor, limit: pageSize, isByAmount: isSorted }),
  );
  const sorting: Record<string, string> = isSorted ? { sort: "amount" } : {};
  const sort = {
    isSorted,
    href: buildLink("/portal/attestations", filters, isSorted ? {} : { sort: "amount" }),
  };
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Attestations"
        lead="Everything your agents recorded, including private attestations."
        action={
          mayAct(membership.role, "take_out") ? (
            <ExportLinks filters={filters} organizationId={person.organizationId} />
          ) : null
        }
      />
      <Card>
        <AttestationFilterForm filters={filters} slugs={slugs} isFiltered={isFiltered} />
      </Card>
      <Card className="mt-5">
        <AmountOrder {...sort} />
        <AttestationTable
          isTestSaid={context.worldId.environment !== "production"}
          caption={isSorted ? "Attestations by amount" : "Attestations, newest first"}
          rows={rows}
          sort={sort}
          empty={<NothingFound isFiltered={isFiltered || isSorted} baseUrl={app.env.baseUrl} />}
        />
        <CursorPagination
          label="attestations"
          isByAmount={isSorted}
          {...(cursor === undefined
            ? {}
            : { firstHref: buildLink("/portal/attestations", filters, sorting) })}
          {...(nextCursor === null
            ? {}
            : {
                nextHref: buildLink("/portal/attestations", filters, {
                  cursor: nextCursor,
                  ...sorting,
                }),
              })}
        />
      </Card>
    </PortalPage>
  );
}

export default withNotFound(AttestationsPage, PortalNotFound);
