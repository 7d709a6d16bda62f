/** /portal/evidence: choose agents and a period, and download the pack for an auditor or make a link. */
import type { Metadata } from "next";
import { EvidenceForm } from "#components/portal/attestations/evidence-form";
import { OpeningLinkTable } from "#components/portal/attestations/opening-links";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { PageHeading } from "#components/portal/shell/page-heading";
import { Card } from "#components/ui/card";
import { CodeBlock } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import { dayMs } from "#lib/protocol/time/time-words";
import { requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { mayAct } from "#lib/services/accounts/members";
import { listAgentSlugs } from "#lib/services/attestations/own";
import { listOpeningLinks } from "#lib/services/packs/opening-links";
import { makePackLink, revokeLink } from "./actions";

export const metadata: Metadata = { title: "Evidence pack" };

const periodDays = 30;
const toDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);

export default async function EvidencePage({ searchParams }: SearchPageProps) {
  const { context, person, app, membership } = await requirePortal("/portal/evidence");
  const asked = await searchParams;
  const keep = (name: string, otherwise: string) => {
    const value = asked[name];
    return typeof value === "string" && value !== "" ? value : otherwise;
  };
  const slugs = await listAgentSlugs(context, person);
  const mayTakeOut = mayAct(membership.role, "take_out");
  const links = mayTakeOut ? await listOpeningLinks(context, person) : [];
  const nowMs = context.clock().getTime();
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Evidence pack"
        lead="One file for an auditor: receipts with their proofs, decisions, the agents' records, the keys, a report and the program that checks all of it offline."
      />
      {links.length === 0 ? null : (
        <Card title="Links for auditors" className="mb-5">
          <OpeningLinkTable rows={links} revoke={revokeLink} />
        </Card>
      )}
      <Card>
        {mayTakeOut ? (
          <EvidenceForm
            slugs={slugs}
            agent={keep("agent", "")}
            from={keep("from", toDay(nowMs - periodDays * dayMs))}
            until={keep("until", toDay(nowMs))}
            withPrivate={asked["private"] !== "off"}
            makeLink={makePackLink}
          />
        ) : (
          <p>
            Your role is {membership.role}. Owners, admins, auditors and members make packs: ask one of them.
          </p>
        )}
      </Card>
      <Card title="Check it" className="mt-5">
        <CodeBlock
          label="Check a pack offline"
          code={[
            `curl -fsSO ${app.env.baseUrl}/verify.mjs`,
            `curl -fsS ${app.env.baseUrl}/v1/pubkey > keys.json`,
            "node verify.mjs pack evidence-AGENT-FROM-UNTIL.zip --keys keys.json",
          ].join("\n")}
        />
        <p className="mt-3 text-[15px]">
          <TextLink href="/docs/evidence-pack">What a pack proves, and what it doesn't</TextLink>
        </p>
      </Card>
    </PortalPage>
  );
}
