/** /portal/attestations/<id>: one attestation in full, verified again at this moment, and selective disclosure. */
import type { Metadata } from "next";
import { cache } from "react";
import {
  AttestationFacts,
  AuthenticityPill,
  CheckList,
  describeAuthenticity,
  WarningList,
} from "#components/portal/attestations/attestation-facts";
import {
  LinkButton,
  LinkDays,
  type OpeningLinkRow,
  OpeningLinkTable,
} from "#components/portal/attestations/opening-links";
import { PresentationForm } from "#components/portal/attestations/presentation-form";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { PortalForm, PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Button } from "#components/ui/button";
import { Card } from "#components/ui/card";
import { CodeBlock } from "#components/ui/code-block";
import { Field, Select } from "#components/ui/field";
import { TextLink } from "#components/ui/text-link";
import { DISCLOSABLE_NAMES } from "#lib/api/schemas/attest";
import { orNotFound, requirePortal } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { readOwnAttestation } from "#lib/services/attestations/own";
import { listOpeningLinks } from "#lib/services/packs/opening-links";
import { eraseContent, makePresentation, makeReceiptLink, revokeLink } from "./actions";

interface PageProps {
  readonly params: Promise<{ id: string }>;
}

/** Once for the page and its title. */
const readFound = cache(async (id: string) => {
  const { context, person, membership } = await requirePortal(`/portal/attestations/${id}`);
  return { context, person, membership, ...(await readOwnAttestation(context, person, id)) };
});

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
  // The page itself says why there is none.
  const found = await readFound((await params).id).catch(() => null);
  if (found === null) return { title: "Attestation" };
  return { title: `${describeAuthenticity(found.verification).text} · Attestation` };
}

type Messages = Awaited<ReturnType<typeof readOwnAttestation>>["messages"];

function listFields(messages: NonNullable<Messages>) {
  const names: readonly string[] = DISCLOSABLE_NAMES;
  return messages
    .filter(([name, value]) => names.includes(name) && value !== null)
    .map(([name, value]) => ({ name, value: typeof value === "string" ? value : JSON.stringify(value) }));
}

function DisclosureCard({ id, messages }: { readonly id: string; readonly messages: Messages }) {
  return (
    <Card title="Share selected fields" className="mt-5">
      {messages === null ? (
        <p className="max-w-prose text-muted">
          This attestation was made without <code className="font-mono text-ink">enable_zk</code>, so its
          fields can't be shared separately. Send{" "}
          <code className="font-mono text-ink">"enable_zk": true</code> with POST /v1/attest to enable that.
        </p>
      ) : (
        <PresentationForm action={makePresentation} attestationId={id} fields={listFields(messages)} />
      )}
    </Card>
  );
}

interface OpenCardProps {
  readonly id: string;
  readonly openings: readonly ("payee" | "all")[];
  readonly links: readonly OpeningLinkRow[];
}

const openingWords = { payee: "The payee alone", all: "All details, who asked, and approvers' names" };

function OpenCard({ id, openings, links }: OpenCardProps) {
  return (
    <Card title="Open details to an auditor" className="mt-5">
      <p className="mb-4 max-w-prose text-muted">
        The receipt with details of its approval that only hashes show to others, as a file or by a link that
        ends. Whoever gets it can check them. The audit log says what was opened.
      </p>
      {openings.length === 0 ? (
        <p className="text-muted">None of them are left.</p>
      ) : (
        <PortalForm
          action={`/portal/attestations/${id}/opened`}
          method="post"
          keepsFields
          className="grid max-w-2xl gap-4 sm:grid-cols-[minmax(0,1fr)_10rem]"
        >
          <input type="hidden" name="attestation_id" value={id} />
          <Field id="opening" label="What to open">
            <Select id="opening" name="opening">
              {openings.map((choice) => (
                <option key={choice} value={choice}>
                  {openingWords[choice]}
                </option>
              ))}
            </Select>
          </Field>
          <LinkDays id="opening-days" />
          <div className="flex flex-wrap gap-3 sm:col-span-2">
            <Button type="submit" variant="secondary">
              Download opened receipt
            </Button>
            <LinkButton action={makeReceiptLink} />
          </div>
        </PortalForm>
      )}
      {links.length === 0 ? null : (
        <div className="mt-4">
          <OpeningLinkTable rows={links} revoke={revokeLink} />
        </div>
      )}
    </Card>
  );
}

function EraseCard({ id }: { readonly id: string }) {
  return (
    <Card title="Erase content" className="mt-5">
      <p className="mb-4 max-w-prose text-muted">
        Deletes the payload, the authorization and everything else that says what was attested. The log entry
        stays: it proves that something was recorded, but not what. Copies that others have are not deleted.
      </p>
      <ActionDialog
        triggerLabel="Erase content"
        triggerVariant="danger"
        title="Erase content"
        description="This can't be undone. Nobody, including you, will be able to verify what this attestation said."
        action={eraseContent}
        fields={{ attestation_id: id }}
        confirmLabel="Erase permanently"
      />
    </Card>
  );
}

async function AttestationPage({ params }: PageProps) {
  const { id } = await params;
  const { context, person, membership, verification, openings, messages, isTest, names, approval } =
    await orNotFound(readFound(id));
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Attestation"
        lead={
          <>
            By{" "}
            <TextLink href={`/portal/agents/${verification.agent_slug}`}>{verification.agent_slug}</TextLink>.{" "}
            <TextLink href={new URL(verification.public_url).pathname}>
              {verification.is_public ? "View the public page" : "View the public page (private attestation)"}
            </TextLink>
          </>
        }
        action={
          <span className="flex flex-wrap gap-1.5">
            <AuthenticityPill found={verification} />
            {isTest ? <TestKeyMark /> : null}
          </span>
        }
      />
      <WarningList found={verification} />
      <Card title="Content">
        <AttestationFacts found={verification} names={names} approval={approval} />
      </Card>
      <Card title="Checked just now" className="mt-5">
        <CheckList checks={verification.checks} warnings={verification.warnings} />
      </Card>
      {verification.payload === null || !mayAct(membership.role, "operate") ? null : (
        <DisclosureCard id={id} messages={messages} />
      )}
      {verification.payload === null ? null : (
        <Card title="The exact signed bytes" className="mt-5">
          <CodeBlock code={verification.payload} label="payload" wrap isAgents />
          <div className="mt-4">
            <CodeBlock code={verification.verify_command} label="Verify it yourself" />
          </div>
        </Card>
      )}
      {verification.human_authorization != null && mayAct(membership.role, "take_out") ? (
        <OpenCard id={id} openings={openings} links={await listOpeningLinks(context, person, id)} />
      ) : null}
      {verification.payload !== null && membership.role === "owner" ? <EraseCard id={id} /> : null}
    </PortalPage>
  );
}

export default withNotFound(AttestationPage, PortalNotFound);
