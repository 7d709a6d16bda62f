/** /portal/attestations/<id>: one attestation in full, verified again at this moment, and selective disclosure. */
import type { Metadata } from "next";
import { ActionDialog } from "#components/portal/action-dialog";
import {
  AttestationFacts,
  AuthenticityPill,
  CheckList,
  WarningList,
} from "#components/portal/attestation-facts";
import { PageHeading } from "#components/portal/page-heading";
import { PresentationForm } from "#components/portal/presentation-form";
import { PortalPage } from "#components/portal/shown-organization";
import { Card } from "#components/ui/card";
import { CodeBlock } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import { DISCLOSABLE_NAMES } from "#lib/contract/presentation";
import { orNotFound, requirePortal } from "#lib/http/portal-request";
import { readOwnAttestation } from "#lib/services/own-attestations";
import { eraseContent, makePresentation } from "./actions";

export const metadata: Metadata = { title: "Attestation" };

interface PageProps {
  readonly params: Promise<{ id: string }>;
}

type Messages = Awaited<ReturnType<typeof readOwnAttestation>>["messages"];

function fieldsOf(messages: NonNullable<Messages>) {
  const names: readonly string[] = DISCLOSABLE_NAMES;
  return messages
    .filter(([name, value]) => names.includes(name) && value !== null)
    .map(([name, value]) => ({ name, value: typeof value === "string" ? value : JSON.stringify(value) }));
}

function DisclosureCard({ id, messages }: { readonly id: string; readonly messages: Messages }) {
  return (
    <Card title="Show a part of it to somebody" className="mt-5">
      {messages === null ? (
        <p className="max-w-prose text-muted">
          This attestation was made without <code className="font-mono text-ink">enable_zk</code>, so no part
          of it can be shown by itself. Send <code className="font-mono text-ink">"enable_zk": true</code>{" "}
          with POST /v1/attest to be able to.
        </p>
      ) : (
        <PresentationForm action={makePresentation} attestationId={id} fields={fieldsOf(messages)} />
      )}
    </Card>
  );
}

function EraseCard({ id }: { readonly id: string }) {
  return (
    <Card title="Erase the content" className="mt-5">
      <p className="mb-4 max-w-prose text-muted">
        The payload, the authorization and everything else that says what was attested is deleted here. The
        log entry stays: it proves that something was recorded at this time, and no longer what. Copies that
        others hold are out of our reach.
      </p>
      <ActionDialog
        triggerLabel="Erase the content"
        triggerVariant="danger"
        title="Erase the content"
        description="This cannot be undone. Nobody can verify what this attestation said any more, you neither."
        action={eraseContent}
        fields={{ attestation_id: id }}
        confirmLabel="Erase it for ever"
      />
    </Card>
  );
}

export default async function AttestationPage({ params }: PageProps) {
  const { id } = await params;
  const { context, person, membership } = await requirePortal(`/portal/attestations/${id}`);
  const { verification, messages } = await orNotFound(readOwnAttestation(context, person, id));
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Attestation"
        lead={
          <>
            By{" "}
            <TextLink href={`/portal/agents/${verification.agent_slug}`}>{verification.agent_slug}</TextLink>.{" "}
            <TextLink href={new URL(verification.public_url).pathname}>
              {verification.is_public ? "What the public sees" : "What the public sees of this private one"}
            </TextLink>
          </>
        }
        action={<AuthenticityPill found={verification} />}
      />
      <WarningList found={verification} />
      <Card title="What it says">
        <AttestationFacts found={verification} />
      </Card>
      <Card title="Checked just now" className="mt-5">
        <CheckList checks={verification.checks} warnings={verification.warnings} />
      </Card>
      <DisclosureCard id={id} messages={messages} />
      {verification.payload === null ? null : (
        <Card title="The exact signed bytes" className="mt-5">
          <CodeBlock code={verification.payload} label="payload" wrap />
          <div className="mt-4">
            <CodeBlock code={verification.verify_command} label="Verify it yourself" />
          </div>
        </Card>
      )}
      {verification.payload !== null && membership.role === "owner" ? <EraseCard id={id} /> : null}
    </PortalPage>
  );
}
