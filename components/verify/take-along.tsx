/** Offers files, commands that repeat the checks elsewhere, a QR code and a badge, to keep or share. */
import { QRCodeSVG } from "qrcode.react";
import { CodeBlock } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { listFacts } from "#lib/protocol/record/facts";
import { checkTitles } from "./check-titles";
import { describePlace } from "./decoded-fields";
import { toFacts, toVerdict, type Verification } from "./facts";
import type { PdfDocument } from "./pdf-document";

interface TakeAlongProps {
  readonly answer: VerifyResponse;
  /** `{base}`, without a trailing slash. */
  readonly base: string;
}

const files = [
  { path: "/payload", name: "Payload", what: "the exact signed bytes" },
  { path: "/signature", name: "Signature", what: "Ed25519, 64 bytes" },
  { path: "/envelope", name: "Envelope", what: "DSSE, in-toto Statement v1" },
  { path: "/bundle", name: "Sigstore bundle", what: "envelope, log entry, proof and checkpoint" },
  { path: "/tlog-proof", name: "Log proof", what: "C2SP tlog-proof" },
] as const;

export function Downloads({ answer }: { readonly answer: VerifyResponse }) {
  const api = `/v1/verify/${answer.attestation_id}`;
  const isWhole = answer.payload !== null;
  return (
    <>
      <ul className="divide-y divide-line border-line border-y">
        {isWhole
          ? files.map(({ path, name, what }) => (
              <li key={path} className="flex flex-wrap items-center gap-x-3 py-1.5">
                <a
                  href={`${api}${path}`}
                  download
                  className="inline-flex min-h-9 items-center text-accent underline decoration-1 underline-offset-[3px]"
                >
                  {name}
                </a>
                <span className="text-muted text-sm">{what}</span>
              </li>
            ))
          : null}
        <li className="flex flex-wrap items-center gap-x-3 py-1.5">
          <a
            href={api}
            className="inline-flex min-h-9 items-center text-accent underline decoration-1 underline-offset-[3px]"
          >
            JSON
          </a>
          <span className="text-muted text-sm">the API response that this page is made from</span>
        </li>
        <li className="flex flex-wrap items-center gap-x-3 py-1.5">
          <a
            href="/v1/pubkey"
            className="inline-flex min-h-9 items-center text-accent underline decoration-1 underline-offset-[3px]"
          >
            Public keys
          </a>
          <span className="text-muted text-sm">of this service and its log</span>
        </li>
      </ul>
      {isWhole ? null : (
        <p className="mt-3 text-muted text-sm">
          {answer.status === "erased" || answer.is_public
            ? "The files with the content were erased."
            : "The owner can download the other files with a key."}
        </p>
      )}
    </>
  );
}

/** The receipt for people who want it on paper: what it says, what was checked, and where to check it again. */
export function describeReceipt(verification: Verification): PdfDocument {
  const { answer } = verification;
  const { title, sentence } = toVerdict(verification);
  return {
    title: "Receipt",
    blocks: [
      { kind: "text", text: `${title}. ${sentence}` },
      { kind: "facts", rows: listFacts(toFacts(answer)).map(({ label, text }) => [label, text] as const) },
      { kind: "heading", text: "Warnings" },
      ...(answer.warnings.length === 0
        ? [{ kind: "text" as const, text: "None." }]
        : [{ kind: "list" as const, items: answer.warnings.map(({ message }) => message) }]),
      { kind: "heading", text: "Verify it again" },
      {
        kind: "facts",
        rows: [
          ["Address", answer.public_url],
          ["Attestation", answer.attestation_id],
          ["Payload hash", answer.payload_hash],
          ["Signing key", answer.key_id],
          ["Log entry", `${describePlace(answer.log)}, ${answer.log.origin}`],
        ],
      },
      { kind: "heading", text: "Checks" },
      {
        kind: "table",
        columns: [
          { header: "Check", share: 2 },
          { header: "Result", share: 1 },
          { header: "Detail", share: 4 },
        ],
        rows: answer.checks.map(({ name, status, detail }) => [
          checkTitles[name],
          status.replaceAll("_", " "),
          detail,
        ]),
      },
    ],
  };
}

export function RepeatCommands({ answer }: { readonly answer: VerifyResponse }) {
  const openssl = answer.independent_verification.verify_signature;
  return (
    <div className="grid gap-5">
      <CodeBlock
        label="offline verifier"
        title="All checks, with the offline verifier (curl, Node)"
        code={answer.verify_command}
      />
      {openssl === null ? null : (
        <CodeBlock
          label="openssl lines"
          title="Just the signature, with openssl (curl, jq, openssl 3)"
          code={openssl}
        />
      )}
    </div>
  );
}

export function ShareLinks({ answer, base }: TakeAlongProps) {
  const badge = `${base}/badge/${answer.agent_slug}.svg?attestation=${answer.attestation_id}`;
  return (
    <div className="grid items-start gap-6 sm:grid-cols-[auto_minmax(0,1fr)]">
      <QRCodeSVG
        value={answer.public_url}
        size={168}
        marginSize={3}
        level="M"
        title="QR code of this page's address"
        className="rounded-md border border-line"
      />
      <div className="grid gap-4">
        <p className="text-[15px]">
          This page: <TextLink href={answer.public_url}>{answer.public_url}</TextLink>
        </p>
        <div className="no-print grid gap-2">
          {/* biome-ignore lint/performance/noImgElement: an SVG of this server; next/image adds nothing */}
          <img
            loading="lazy"
            src={badge}
            alt="Badge that says this attestation's state in words"
            height={20}
            className="h-5"
          />
          <CodeBlock
            wrap
            label="badge snippet"
            title="Badge, in Markdown"
            code={`[![Countersign](${badge})](${answer.public_url})`}
          />
        </div>
      </div>
    </div>
  );
}
