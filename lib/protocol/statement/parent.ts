/** Links from an attestation to others: `predicate.request.parent` and `traceparent`. */
import { isUuid } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";

export const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Attestation by whose authority an agent acts, of this or another instance. */
export type ParentLink = { id: string; payload_hash: string; origin: string };

function isParentLink(value: JsonValue): value is ParentLink {
  if (!isJsonObject(value)) return false;
  const { id, payload_hash, origin, ...others } = value;
  return (
    isUuid(String(id)) &&
    isHexId(payload_hash, 64) &&
    typeof origin === "string" &&
    Object.keys(others).length === 0
  );
}

export function readParent({ parent }: JsonObject): ParentLink | null {
  return parent !== undefined && isParentLink(parent) ? parent : null;
}

export const isChained = ({ parent, traceparent }: JsonObject): boolean =>
  (parent === undefined || isParentLink(parent)) &&
  (traceparent === undefined || traceparentPattern.test(String(traceparent)));

export const isHexId = (value: JsonValue | undefined, digits: number) =>
  typeof value === "string" && value.length === digits && /^[0-9a-f]+$/.test(value);
