/** Values that the zero-knowledge proof discloses, if it has verified: nothing unproven is shown as proven. */
import { DisclosedValue } from "#components/presentation/disclosed-value";
import { DefinitionList } from "#components/ui/definition-list";
import { FieldName } from "#components/ui/field-name";
import { TextLink } from "#components/ui/text-link";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { AttestationCheck } from "#lib/verifier/checks/verify-statement";

/** `["human_approved",true]` → name and value; null for what is not such a pair. */
function parseDisclosed(text: string): { name: string; value: JsonValue } | null {
  try {
    const pair = JSON.parse(text) as JsonValue;
    if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== "string") return null;
    const [name, value = null] = pair;
    return { name, value };
  } catch {
    return null;
  }
}

interface DisclosedValuesProps {
  readonly proof: NonNullable<VerifyResponse["zk_proof"]>;
  /** The server's own check of it. */
  readonly status: AttestationCheck["status"] | undefined;
}

export function DisclosedValues({ proof, status }: DisclosedValuesProps) {
  if (status === "not_applicable") {
    return (
      <p className="max-w-[68ch] text-[15px]">
        This proof's key was revoked later, so whoever has it could sign any values. The proof counts only
        together with the payload, which isn't shown here, so it no longer shows anything.
      </p>
    );
  }
  if (status !== "pass")
    return <p className="max-w-[68ch] text-[15px]">The proof is invalid, so its values aren't shown.</p>;
  // The message that blinds the others is never disclosed.
  const fields = proof.total_messages - 1;
  const values = Object.values(proof.disclosed).flatMap((text) => parseDisclosed(text) ?? []);
  return (
    <>
      <p className="max-w-[68ch] text-[15px]">
        It proves that this service's BBS key signed one attestation with exactly these{" "}
        {values.length.toLocaleString("en")} of {fields.toLocaleString("en")} fields, and reveals nothing
        about the others. It doesn't prove that the action happened.{" "}
        <TextLink href="/docs/zero-knowledge">How it works</TextLink>
      </p>
      <div className="mt-3">
        <DefinitionList
          items={values.map(({ name, value }) => ({
            id: name,
            name: <FieldName name={name} />,
            value: <DisclosedValue value={value} />,
          }))}
        />
      </div>
      <p className="mt-3 text-[15px]">
        <TextLink href="/verify/presentation">Verify another presentation</TextLink>
      </p>
    </>
  );
}
