/** /portal/agents/new: registers an agent. */
import type { Metadata } from "next";
import { RegisterAgentForm } from "#components/portal/agents/register-agent-form";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { Card } from "#components/ui/card";
import { requirePortal } from "#lib/server/pages/portal-request";
import { mayAct } from "#lib/services/accounts/members";
import { registerAgent } from "./actions";

export const metadata: Metadata = { title: "Register an agent" };

export default async function NewAgentPage() {
  const { person, membership } = await requirePortal("/portal/agents/new");
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Register an agent"
        lead="Only the slug is required. You can change everything else later. Each attestation is checked against what was registered when it was created."
      />
      <Card>
        {mayAct(membership.role, "operate") ? (
          <RegisterAgentForm action={registerAgent} />
        ) : (
          <p>Only an owner, admin or member registers agents: ask an owner of your organization.</p>
        )}
      </Card>
    </PortalPage>
  );
}
