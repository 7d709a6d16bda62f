/** The answer's own list of warnings against what its bytes show; it is never taken instead of them. */
import { isJsonObject, type JsonObject } from "#lib/domain/canonical-json";
import type { AttestationReport } from "#lib/domain/verify";
import { drawWarnings, type WarningCode, warningCodes } from "#lib/domain/warnings";
import { UnreadableError } from "./read-json";

/**
 * Warnings that follow from the signed bytes, so that an answer which has a list must name exactly these of them.
 * Others come and go with time: a key is revoked, content is erased. A code that is added to the product later must not
 * be added here, as receipts kept from before do not name it.
 */
const signedWarnings: readonly WarningCode[] = [
  "agent_signature_invalid",
  "code_hash_mismatch",
  "tools_not_registered",
  "approval_asserted_only",
  "approval_test",
  "approval_key_changed",
];

/** Null where the answer has no list, as those of the first release; unknown codes are a later release's. */
function readStatedWarnings({ warnings }: JsonObject): WarningCode[] | null {
  if (warnings === undefined) return null;
  if (!Array.isArray(warnings)) throw new UnreadableError("warnings: expected a list");
  const codes = warnings.map((one) => (isJsonObject(one) ? one["code"] : undefined));
  return warningCodes.filter((code) => codes.includes(code));
}

/** A list that leaves out what the signed bytes warn of, or warns of what they do not say. */
export function findOtherWarnings(object: JsonObject, { warnings }: AttestationReport): string | null {
  const stated = readStatedWarnings(object);
  if (stated === null) return null;
  const own = warnings.map(({ code }) => code);
  const differs = signedWarnings.find((code) => stated.includes(code) !== own.includes(code));
  return differs === undefined ? null : `warnings (${differs})`;
}

/** What the answer warns of by its list or its fields, less what the proof shows; the two must not contradict. */
export function readWarningsWithoutPayload(object: JsonObject, disclosed: JsonObject) {
  const { agent_authenticated, code_hash_verified, tools_authorized } = object;
  const codesOf = (facts: object) => drawWarnings(facts).map(({ code }) => code);
  const proven = codesOf(disclosed);
  const shown = codesOf({ agent_authenticated, code_hash_verified, tools_authorized, ...disclosed });
  const stated = readStatedWarnings(object) ?? shown;
  const isShown: Partial<Record<WarningCode, boolean>> = {
    agent_signature_invalid: agent_authenticated !== undefined,
    code_hash_mismatch: code_hash_verified !== undefined,
    tools_not_registered: tools_authorized !== undefined,
    approval_asserted_only: "human_approval_method" in disclosed,
    approval_test: "human_approval_environment" in disclosed,
  };
  return {
    differs: signedWarnings.find((code) => isShown[code] && stated.includes(code) !== shown.includes(code)),
    stated: stated.filter((code) => !proven.includes(code)),
  };
}
