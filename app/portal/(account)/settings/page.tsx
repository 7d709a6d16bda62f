/** /portal/settings: the organization, its people, what is kept and how long, and its end. */

import type { Metadata } from "next";
import { AgentText } from "#components/agent-text";
import { DeleteOrganization } from "#components/portal/organization/delete-organization";
import { DomainsCard } from "#components/portal/organization/domains-card";
import { InviteForm } from "#components/portal/organization/invite-form";
import { InvitationTable, MemberTable } from "#components/portal/organization/member-table";
import { OrganizationForm } from "#components/portal/organization/organization-form";
import { ProviderGroups } from "#components/portal/organization/provider-groups";
import { RetentionForms } from "#components/portal/organization/retention-forms";
import { SecondFactorForm } from "#components/portal/organization/second-factor-form";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { Card } from "#components/ui/card";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { TextLink } from "#components/ui/text-link";
import { formatCount } from "#lib/protocol/text/display-text";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { requirePortal } from "#lib/server/pages/portal-request";
import { listApprovers } from "#lib/services/accounts/approvers";
import { listProviderGroups } from "#lib/services/accounts/provider-groups";
import { describeDirectory } from "#lib/services/directory/directory";
import { readOrganization } from "#lib/services/portal/organization";
import {
  beginHold,
  changeRole,
  endHold,
  endOrganization,
  invite,
  mapGroup,
  remove,
  saveOrganization,
  saveRetention,
  saveSecondFactor,
  unmapGroup,
  withdraw,
} from "./actions";
import { addDomain, checkDomain, removeDomain } from "./domain-actions";

type Directory = NonNullable<Awaited<ReturnType<typeof describeDirectory>>>;

export const metadata: Metadata = { title: "Settings" };

function describeLimits(attestationsPerDay: number | null, auditDays: number | undefined): Definition[] {
  return [
    {
      id: "limit",
      name: "Daily limit",
      value:
        attestationsPerDay === null
          ? "None."
          : `${formatCount(attestationsPerDay, "attestation")} per UTC day, set by the operator of this instance.`,
    },
    {
      id: "attestations",
      name: "Attestations",
      value:
        "Their log entries are kept permanently: hashes and signatures, no content. Owners can erase the content of an attestation on its page, with a key that has the erase permission, or by age, below. The proof that something was recorded stays.",
    },
    {
      id: "keys",
      name: "API keys",
      value: "Kept as hashes, including revoked ones, so the audit log can name them.",
    },
    {
      id: "audit",
      name: "Audit log",
      value: `${auditDays === undefined ? "Kept permanently" : `Kept for ${formatCount(auditDays, "day")}`}, with email and IP addresses.`,
    },
    {
      id: "idempotency",
      name: "Idempotent responses",
      value: "Deleted after 24 hours, or when the authorization request has ended.",
    },
  ];
}

function DirectoryCard({ directory }: { readonly directory: Directory }) {
  const { people, active, groups, waiting } = directory;
  return (
    <Card title="Directory" className="mt-5" id="directory">
      <p className="text-muted">
        Your company's directory adds and removes members by SCIM:{" "}
        {formatCount(active, "active person", "active people")},{" "}
        {formatCount(people - active, "deactivated person", "deactivated people")},{" "}
        {formatCount(groups.length, "group")}. It makes nobody an owner.
      </p>
      {waiting.length === 0 ? null : (
        <p className="mt-3">
          No members yet, because the domain of their address isn't verified or the organization is full:{" "}
          <AgentText value={waiting.slice(0, 20).join(", ")} hideWarnings />
          {waiting.length > 20 ? ` and ${waiting.length - 20} more` : ""}. They join as soon as you verify the
          domain, above.
        </p>
      )}
    </Card>
  );
}

export default async function SettingsPage() {
  const { context, person, membership } = await requirePortal("/portal/settings");
  const organization = await readOrganization(context, person);
  const isOwner = membership.role === "owner";
  const directory = await describeDirectory(context, person);
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading title="Settings" />
      <Card title="Organization" id="organization">
        <OrganizationForm
          action={saveOrganization}
          name={organization.name}
          mark={organization.mark}
          isPublic={organization.defaultPublic}
          pushShowsFacts={organization.pushShowsFacts}
          canChange={isOwner}
        />
        <p className="mt-5 text-muted">
          <TextLink href="/portal/approvers">Approvers</TextLink> get approval requests by email.
        </p>
      </Card>
      <DomainsCard
        domains={organization.domains}
        actions={isOwner ? { add: addDomain, check: checkDomain, remove: removeDomain } : null}
      />
      <Card title="Members" className="mt-5" id="members">
        <MemberTable
          members={organization.members}
          selfId={person.userId}
          isOwner={isOwner}
          actions={{ changeRole, remove }}
        />
        {organization.invitations.length === 0 ? null : (
          <div className="mt-6">
            <h3 className="mb-2 font-medium">Open invitations</h3>
            <InvitationTable invitations={organization.invitations} withdraw={isOwner ? withdraw : null} />
          </div>
        )}
        {isOwner ? (
          <div className="mt-6 border-line border-t pt-5">
            <h3 className="mb-4 font-medium">Invite a colleague</h3>
            <InviteForm action={invite} />
          </div>
        ) : null}
      </Card>
      {directory === null ? null : <DirectoryCard directory={directory} />}
      {isOwner && (directory !== null || context.settings.OIDC_GROUPS_CLAIM !== undefined) ? (
        <Card title="Groups of your provider" className="mt-5" id="provider-groups">
          <ProviderGroups
            mapped={await listProviderGroups(context.database.db, person.organizationId)}
            groups={(await listApprovers(context, person)).groups}
            offered={directory?.groups ?? []}
            save={mapGroup}
            remove={unmapGroup}
          />
        </Card>
      ) : null}
      {isOwner ? (
        <Card title="Second factor" className="mt-5" id="second-factor">
          <SecondFactorForm action={saveSecondFactor} chosen={organization.secondFactor} />
        </Card>
      ) : null}
      <Card title="Limits and retention" className="mt-5" id="limits">
        <DefinitionList
          items={describeLimits(organization.attestationsPerDay, context.settings.AUDIT_LOG_DAYS)}
        />
        <RetentionForms
          retention={organization.retention}
          actions={{ save: saveRetention, begin: beginHold, end: endHold }}
          canChange={isOwner}
        />
      </Card>
      {isOwner ? (
        <Card title="Delete organization" className="mt-5" id="delete">
          <DeleteOrganization action={endOrganization} name={organizationTitle(organization.name)} />
        </Card>
      ) : null}
    </PortalPage>
  );
}
