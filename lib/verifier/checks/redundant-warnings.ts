/**
 * The answer's own list of warnings against what its bytes show; it is never taken instead of them. Loaded only where
 * one of the two is not empty.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { findWarnings, type WarningCode, warningCodes } from "#lib/protocol/statement/warnings";
import { UnreadableError } from "./evidence";
import type { AttestationReport } from "./verify-statement";

/**
 * Warnings that follow from the signed bytes, so that an answer which has a list must name exactly these of them.
 * Others come and go with time: a key is revoked, content is erased. A code that is added to the product later must not
 * be added here unless its cause is as new, as receipts kept from before do not name it.
 */
const signedWarnings: readonly WarningCode[] = [
  "agent_signature_invalid",
  "code_hash_mismatch",
  "tools_not_registered",
  "client_gap",
  "agent_frozen",
  "approval_stopped",
  "approval_asserted_only",
  "approval_test",
  "reported_by_trace",
];

export interface RestatedWarnings {
  differs: WarningCode | undefined;
  /** Warnings of the answer for which it does not carry the bytes; not to be overlooked for that. */
  stated: WarningCode[];
}

export function restateWarnings(
  object: JsonObject,
  report: AttestationReport,
  disclosed: readonly { name: string; value: JsonValue }[],
): RestatedWarnings {
  const own = report.warnings.map(({ code }) => code);
  if (report.statement === null) return restateWithoutPayload(object, own, disclosed);
  const stated = readStatedWarnings(object) ?? own;
  const differs = signedWarnings.find((code) => stated.includes(code) !== own.includes(code));
  return { differs, stated: [] };
}

/** Null if the answer has no list, as those of the first release; unknown codes are a later release's. */
function readStatedWarnings({ warnings }: JsonObject): WarningCode[] | null {
  if (warnings === undefined) return null;
  if (!Array.isArray(warnings)) throw new UnreadableError("warnings: expected a list");
  const codes = warnings.map((one) => (isJsonObject(one) ? one["code"] : undefined));
  return warningCodes.filter((code) => codes.includes(code));
}

/** Warnings of the answer's list or fields, less those that are proven; the two must not contradict. */
function restateWithoutPayload(
  object: JsonObject,
  own: readonly WarningCode[],
  disclosed: readonly { name: string; value: JsonValue }[],
): RestatedWarnings {
  const { agent_authenticated, code_hash_verified, tools_authorized, client_gap } = object;
  const proven: JsonObject = Object.fromEntries(disclosed.map(({ name, value }) => [name, value]));
  const known = [...own, ...findWarnings(proven)];
  const shown = findWarnings({
    ...(agent_authenticated !== undefined && { agent_authenticated }),
    ...(code_hash_verified !== undefined && { code_hash_verified }),
    ...(tools_authorized !== undefined && { tools_authorized }),
    ...(client_gap !== undefined && { client_gap }),
    ...proven,
  });
  const stated = readStatedWarnings(object) ?? shown;
  const isShown: Partial<Record<WarningCode, boolean>> = {
    agent_signature_invalid: agent_authenticated !== undefined,
    code_hash_mismatch: code_hash_verified !== undefined,
    tools_not_registered: tools_authorized !== undefined,
    client_gap: client_gap !== undefined,
    approval_asserted_only: "human_approval_method" in proven,
    approval_test: "human_approval_environment" in proven,
  };
  return {
    differs: signedWarnings.find((code) => isShown[code] && stated.includes(code) !== shown.includes(code)),
    stated: stated.filter((code) => !known.includes(code)),
  };
}
