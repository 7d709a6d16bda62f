/** /portal/agents/new: registers an agent. */
import type { Metadata } from "next";
import { PageHeading } from "#components/portal/page-heading";
import { RegisterAgentForm } from "#components/portal/register-agent-form";
import { PortalPage } from "#components/portal/shown-organization";
import { Card } from "#components/ui/card";
import { requirePortal } from "#lib/pages/portal-request";
import { registerAgent } from "./actions";

export const metadata: Metadata = { title: "Register an agent" };

export default async function NewAgentPage() {
  const { person } = await requirePortal("/portal/agents/new");
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Register an agent"
        lead="Only the slug is required. You can change everything else later. Each attestation is checked against what was registered when it was created."
      />
      <Card>
        <RegisterAgentForm action={registerAgent} />
      </Card>
    </PortalPage>
  );
}
