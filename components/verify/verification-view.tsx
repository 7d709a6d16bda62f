/** The public page of one attestation. Readable without JavaScript. */
import { NotProven } from "#components/not-proven";
import { CodeBlock } from "#components/ui/code-block";
import { BrowserCheckProvider } from "./browser-check";
import { BrowserSummary } from "./browser-summary";
import { checkTexts } from "./check-texts";
import { Checklist } from "./checklist";
import { toClaims } from "./compare";
import { DecodedFields } from "./decoded-fields";
import { DisclosedValues } from "./disclosed-values";
import { toVerdict, type Verification } from "./facts";
import { HumanApprovalPart } from "./human-approval";
import { PdfButton } from "./pdf-button";
import { PrintProof } from "./print-proof";
import { NotProvenLine, ReceiptFacts } from "./receipt-facts";
import { Section } from "./section";
import { SignedBytes } from "./signed-bytes";
import type { Surroundings } from "./surroundings";
import { Downloads, describeReceipt, RepeatCommands, ShareLinks } from "./take-along";
import { VerdictHeader } from "./verdict-header";

interface VerificationViewProps {
  readonly verification: Verification & { readonly surroundings: Surroundings | null };
  readonly base: string;
}

function Content({ answer }: Pick<Verification, "answer">) {
  const { payload } = answer;
  return (
    <Section
      id="content"
      fold="closed"
      title={payload === null ? "Public details" : "Content and signed bytes"}
      lead={
        payload === null
          ? undefined
          : "Decoded fields, beside the exact bytes that the signature covers. Invisible characters are shown by their code, like ⟨U+202E⟩."
      }
    >
      <div className={payload === null ? "" : "grid items-start gap-6 lg:grid-cols-2"}>
        <div className="min-w-0">
          <DecodedFields answer={answer} />
        </div>
        {payload === null ? null : (
          <div className="min-w-0">
            <SignedBytes payload={payload} />
          </div>
        )}
      </div>
    </Section>
  );
}

function LogPart({ answer }: Pick<Verification, "answer">) {
  const { log } = answer;
  return (
    <Section
      id="log"
      fold="closed"
      title="Transparency log"
      lead="The log only grows. Anyone who keeps an old checkpoint can prove it if an entry is later changed or removed."
    >
      <div className="grid gap-4 lg:grid-cols-2">
        <CodeBlock wrap label="checkpoint" title="Checkpoint (C2SP signed note)" code={log.checkpoint} />
        <CodeBlock
          wrap
          label="inclusion proof"
          title={`Inclusion proof of entry ${log.index} (${log.inclusion_proof.length} hashes)`}
          code={
            log.inclusion_proof.length === 0
              ? "(empty: the tree has one entry)"
              : log.inclusion_proof.join("\n")
          }
        />
      </div>
    </Section>
  );
}

export function VerificationView({ verification, base }: VerificationViewProps) {
  const { answer, isTest, approvalMethod } = verification;
  const proofStatus = answer.checks.find(({ name }) => name === "zk_proof")?.status;
  return (
    <BrowserCheckProvider id={answer.attestation_id} page={toClaims(verification)}>
      <div className="mx-auto max-w-7xl px-4 pt-6 sm:px-6 sm:pt-10">
        <VerdictHeader verdict={toVerdict(verification)} browser={<BrowserSummary />}>
          <ReceiptFacts verification={verification} surroundings={verification.surroundings} />
          <NotProvenLine answer={answer} />
        </VerdictHeader>
        <PrintProof answer={answer} />
        <p className="no-print mt-4">
          <PdfButton
            fileName={`receipt-${answer.attestation_id}.pdf`}
            describe={describeReceipt(verification)}
          >
            Download as PDF
          </PdfButton>
        </p>
        <div className="print-raw">
          <Section id="approval" title="Human approval">
            <HumanApprovalPart answer={answer} isTest={isTest} approvalMethod={approvalMethod} />
          </Section>
          <Section
            id="checks"
            fold={answer.valid === false ? "open" : "closed"}
            title="The checks"
            lead="Each is run by the server on every visit, from the stored bytes, and again by your own browser with the offline verifier's code."
          >
            <Checklist
              checks={answer.checks.map((check) => ({ ...check, ...checkTexts[check.name] }))}
              warnings={answer.warnings}
            />
          </Section>
          <Content answer={answer} />
          {answer.zk_proof === null ? null : (
            <Section
              id="zero-knowledge"
              title="Zero-knowledge proof"
              {...(answer.action === null ? {} : { fold: "closed" as const })}
            >
              <DisclosedValues proof={answer.zk_proof} status={proofStatus} />
            </Section>
          )}
          <Section id="not-proven" title="What this doesn't prove">
            <NotProven />
          </Section>
          <Section
            id="repeat"
            fold="closed"
            title="Verify it without this page"
            lead="The commands work as shown. Keep the files, and you can always verify them without us."
          >
            <div className="grid items-start gap-8 lg:grid-cols-[minmax(0,20rem)_minmax(0,1fr)]">
              <Downloads answer={answer} />
              <RepeatCommands answer={answer} />
            </div>
          </Section>
          <LogPart answer={answer} />
          <Section id="share" title="Share" fold="closed">
            <ShareLinks answer={answer} base={base} />
          </Section>
        </div>
        <label className="no-print mt-8 flex min-h-11 items-center gap-3 text-[15px]">
          <input type="checkbox" id="print-all" className="size-5 accent-[var(--accent-fill)]" />
          Print the evidence too: checks, signed bytes and log proof
        </label>
      </div>
    </BrowserCheckProvider>
  );
}
