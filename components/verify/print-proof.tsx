/** Shown on paper: where to check the record again, with a QR code and hashes short enough to compare by eye. */
import { QRCodeSVG } from "qrcode.react";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { describePlace } from "./decoded-fields";

const shown = 16;

/** "3b1f 9c2e 5d07 aa10": the first 8 bytes of a hash. */
function shorten(hex: string): string {
  return (hex.slice(0, shown).match(/.{1,4}/g) ?? []).join(" ");
}

export function PrintProof({ answer }: { readonly answer: VerifyResponse }) {
  const rows = [
    ["Attestation", answer.attestation_id],
    ["Payload hash begins", shorten(answer.payload_hash)],
    ["Signing key", answer.key_id],
    ["Log entry", `${describePlace(answer.log)}, ${answer.log.origin}`],
  ] as const;
  return (
    <div data-print-proof className="mt-5 hidden items-start gap-6 print:flex">
      <QRCodeSVG
        value={answer.public_url}
        size={132}
        marginSize={2}
        level="M"
        title="QR code of this receipt's address"
        className="shrink-0"
      />
      <div className="min-w-0 text-sm [overflow-wrap:anywhere]">
        <p>Verify it again: {answer.public_url}</p>
        <dl className="mt-2 grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-0.5">
          {rows.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-muted">{name}</dt>
              <dd className="font-mono text-[13px]">{value}</dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}
