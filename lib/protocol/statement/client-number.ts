/**
 * An agent's own numbers: each instance of it may count its attestations from 1, so that one that was lost on its way to
 * the service shows. docs/wire.md (Attest) has the rule.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";

/** `request.client` of a signed payload. */
export type ClientNumber = {
  /** Which of the agent's writers counts. */
  instance: string;
  /** From 1. */
  sequence: number;
};

export function isClientNumber(value: JsonValue | undefined): value is ClientNumber {
  if (!isJsonObject(value)) return false;
  const { instance, sequence, ...others } = value;
  return (
    typeof instance === "string" &&
    Number.isSafeInteger(sequence) &&
    (sequence as number) >= 1 &&
    Object.keys(others).length === 0
  );
}

export function clientNumberOf({ client }: JsonObject): ClientNumber | null {
  return isClientNumber(client) ? client : null;
}

/** `last`: the number that the instance's last recorded attestation has, 0 before its first. */
export const isClientGap = (last: number, { sequence }: ClientNumber) => sequence !== last + 1;
