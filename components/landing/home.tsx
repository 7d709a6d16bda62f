/** The landing page: what it is and why, two things to try, then how: the quick start, the steps, what is proven and what is not. */
import type { ReactNode } from "react";
import { ApprovalGrades } from "#components/approval-grades";
import { NotProven } from "#components/not-proven";
import { QuickStart } from "#components/quick-start";
import { ReceiptLab } from "#components/receipt-lab/receipt-lab";
import { Button } from "#components/ui/button";
import { ButtonLink } from "#components/ui/button-link";
import { TextLink } from "#components/ui/text-link";
import { ApprovalPicture } from "./approval-picture";
import { type ExampleAttestation, ExampleReceipt } from "./example-receipt";
import { PortalPicture } from "./portal-picture";
import { TryApproval, type TryApprovalProps } from "./try-approval";
import { Uses } from "./uses";

interface HomeProps {
  readonly base: string;
  readonly example: ExampleAttestation;
  /** Proof by which people approve here. */
  readonly proof: "World ID" | "passkeys";
  /** Null: this instance offers no demo. */
  readonly demo: Omit<TryApprovalProps, "proof"> | null;
}

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly lead: ReactNode;
  readonly children: ReactNode;
}

function Section({ id, title, lead, children }: SectionProps) {
  return (
    <section aria-labelledby={id} className="mx-auto max-w-7xl px-4 pt-20 sm:px-6">
      <h2 id={id} className="font-semibold text-2xl sm:text-[28px]">
        {title}
      </h2>
      <p className="mt-2 max-w-[60ch] text-lg text-muted">{lead}</p>
      <div className="mt-8">{children}</div>
    </section>
  );
}

const listStages = (proof: HomeProps["proof"]) => [
  {
    title: "The agent reports",
    text: "Before or after it acts, the agent posts its name, the action, a hash of the inputs and, if it has a key, its own signature.",
  },
  {
    title: "A human decides, if needed",
    text: `The agent requests approval and shares a link. The page shows the agent, the action and every detail. A person approves with ${proof === "passkeys" ? "a passkey" : proof}, or denies.`,
  },
  {
    title: "Countersign signs and logs",
    text: "The report becomes a statement in canonical JSON, signed with Ed25519 and added to a transparency log before the agent gets a response.",
  },
  {
    title: "Anyone can check",
    text: "The link shows every check twice: our server's result, and what your own browser computed from the same bytes. The offline verifier needs neither.",
  },
];

function HowItWorks({ proof }: Pick<HomeProps, "proof">) {
  return (
    <ol className="grid gap-px overflow-hidden rounded-lg border border-line bg-line md:grid-cols-2 lg:grid-cols-4">
      {listStages(proof).map((stage, index) => (
        <li key={stage.title} className="bg-surface p-5">
          <p aria-hidden="true" className="font-mono text-muted text-sm">
            {index + 1}
          </p>
          <h3 className="mt-2 font-semibold text-[17px]">{stage.title}</h3>
          <p className="mt-2 text-[15px] text-muted">{stage.text}</p>
        </li>
      ))}
    </ol>
  );
}

function Hero({ example, demo, proof }: Omit<HomeProps, "base">) {
  const hasDemo = demo !== null;
  return (
    <section className="mx-auto grid max-w-7xl items-center gap-12 px-4 pt-14 sm:px-6 sm:pt-24 lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]">
      <div>
        <h1 className="max-w-[18ch] font-semibold text-4xl leading-[1.08] tracking-[-0.03em] sm:text-6xl">
          Proof of what your AI agent did, and whether a human approved it.
        </h1>
        <p className="mt-6 max-w-[56ch] text-lg text-muted sm:text-xl">
          Countersign turns each action of an AI agent into a signed, publicly logged attestation. If a human
          approved it, {proof === "passkeys" ? "their passkey" : proof} proves that too. Nobody has to take
          our word for it.
        </p>
        <div className="mt-8 flex flex-wrap gap-3">
          {hasDemo ? (
            <form action="/demo" method="post">
              <Button type="submit">Approve a test payment</Button>
            </form>
          ) : null}
          <ButtonLink href="/#quick-start" variant={hasDemo ? "secondary" : "primary"}>
            Start in two minutes
          </ButtonLink>
        </div>
      </div>
      <ExampleReceipt attestation={example} />
    </section>
  );
}

export function Home({ base, example, proof, demo }: HomeProps) {
  return (
    <>
      <Hero example={example} demo={demo} proof={proof} />
      <Section
        id="why"
        title="For the moment when someone asks"
        lead="Logs can be edited, and “a human approved it” is easy to say. Sooner or later somebody wants to see it proven."
      >
        <Uses />
      </Section>
      {demo === null ? null : (
        <Section
          id="approve"
          title="Approve a payment"
          lead="From request to receipt in thirty seconds, as your approvers would see it."
        >
          <TryApproval {...demo} proof={proof} />
        </Section>
      )}
      {demo === null ? (
        <Section
          id="approve"
          title="What the person sees"
          lead="The amount, the recipient and the action first, then every detail."
        >
          <div className="max-w-xl">
            <ApprovalPicture proof={proof} />
          </div>
        </Section>
      ) : null}
      <Section
        id="portal"
        title="What your team sees"
        lead="Every request with its amount, who decided it or which rule, and a receipt for what was done."
      >
        <PortalPicture />
      </Section>
      <Section
        id="break"
        title="Break this receipt"
        lead="Change any byte of a real receipt and see which checks notice. Your browser verifies it, not our server."
      >
        <ReceiptLab />
      </Section>
      <Section
        id="quick-start"
        title="Create your first attestation"
        lead="Four commands to a link anyone can verify. You need curl, jq, openssl and, for the last one, Node."
      >
        <QuickStart base={base} />
      </Section>
      <Section
        id="how-it-works"
        title="How it works"
        lead="One statement, one signature, one entry in a log that can't be rewritten unnoticed."
      >
        <HowItWorks proof={proof} />
      </Section>
      <Section
        id="grades"
        title={`${proof === "passkeys" ? "Three" : "Four"} grades of human approval`}
        lead="“A human approved this” can mean very different things. Every response and every page says which."
      >
        <ApprovalGrades proof={proof} />
      </Section>
      <Section
        id="not-proven"
        title="What it does not prove"
        lead={
          <>
            Evidence is only useful if you know its limits. The full list is in the{" "}
            <TextLink href="/docs/security">security model</TextLink>.
          </>
        }
      >
        <NotProven />
      </Section>
    </>
  );
}
