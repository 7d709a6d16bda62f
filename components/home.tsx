/** The landing page: what it is, a live example, the quick start, how it works, what is proven and what is not. */
import type { ReactNode } from "react";
import { ApprovalGrades } from "./approval-grades";
import { type ExampleAttestation, ExampleReceipt } from "./example-receipt";
import { NotProven } from "./not-proven";
import { QuickStart } from "./quick-start";
import { ButtonLink } from "./ui/button-link";
import { TextLink } from "./ui/text-link";

interface HomeProps {
  readonly base: string;
  /** Left out while the instance has no public attestation. */
  readonly example?: ExampleAttestation;
}

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly lead: ReactNode;
  readonly children: ReactNode;
}

function Section({ id, title, lead, children }: SectionProps) {
  return (
    <section aria-labelledby={id} className="mx-auto max-w-6xl px-4 pt-20 sm:px-6">
      <h2 id={id} className="font-semibold text-2xl sm:text-[28px]">
        {title}
      </h2>
      <p className="mt-2 max-w-[60ch] text-lg text-muted">{lead}</p>
      <div className="mt-8">{children}</div>
    </section>
  );
}

const stages = [
  {
    title: "The agent reports",
    text: "Before or after it acts, the agent posts its name, the action, a hash of the inputs and, if it has a key, its own signature.",
  },
  {
    title: "A human decides, if needed",
    text: "The agent requests approval and shares a link. The page shows the agent, the action and every detail. A person approves with World ID, or denies.",
  },
  {
    title: "Countersign signs and logs",
    text: "The report becomes a statement in canonical JSON, signed with Ed25519 and added to a transparency log before the agent gets a response.",
  },
  {
    title: "Anyone can check",
    text: "The link shows every check twice: our server's result, and what your own browser computed from the same bytes. The offline verifier needs neither.",
  },
] as const;

function HowItWorks() {
  return (
    <ol className="grid gap-px overflow-hidden rounded-lg border border-line bg-line md:grid-cols-2 lg:grid-cols-4">
      {stages.map((stage, index) => (
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

function Hero({ example }: { readonly example?: ExampleAttestation | undefined }) {
  return (
    <section
      className={`mx-auto grid max-w-6xl items-center gap-12 px-4 pt-14 sm:px-6 sm:pt-24 ${example ? "lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]" : ""}`}
    >
      <div>
        <h1 className="max-w-[18ch] font-semibold text-4xl leading-[1.08] tracking-[-0.03em] sm:text-6xl">
          Proof of what your AI agent did, and whether a human approved it.
        </h1>
        <p className="mt-6 max-w-[56ch] text-lg text-muted sm:text-xl">
          Countersign turns each action of an AI agent into a signed, publicly logged attestation. If a human
          approved it, World ID proves that too. Nobody has to take our word for it.
        </p>
        <div className="mt-8 flex flex-wrap gap-3">
          <ButtonLink href="/#quick-start">Start in two minutes</ButtonLink>
          <ButtonLink href="/verify" variant="secondary">
            Verify an attestation
          </ButtonLink>
        </div>
      </div>
      {example ? <ExampleReceipt attestation={example} /> : null}
    </section>
  );
}

export function Home({ base, example }: HomeProps) {
  return (
    <>
      <Hero example={example} />
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
        <HowItWorks />
      </Section>
      <Section
        id="approval"
        title="Three grades of human approval"
        lead="“A human approved this” can mean very different things. Every response and every page says which."
      >
        <ApprovalGrades />
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
