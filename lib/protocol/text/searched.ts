/** Classifies search input: an id, a hash, a request, a place in the log, or nothing. */
import { authorizationRequestIdPattern } from "#lib/protocol/encoding/ids";

export type Searched =
  | { kind: "attestation_id"; id: string }
  | { kind: "hash"; hex: string }
  | { kind: "request_id"; id: string }
  | { kind: "log_index"; index: number };

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
const hash = /^(?:sha-?256[:=]\s*)?([0-9a-f]{64})$/i;

export function parseSearched(text: string): Searched | null {
  const trimmed = text.trim();
  const id = uuid.exec(trimmed)?.[0];
  if (id !== undefined) return { kind: "attestation_id", id: id.toLowerCase() };
  const hex = hash.exec(trimmed)?.[1];
  if (hex !== undefined) return { kind: "hash", hex: hex.toLowerCase() };
  if (authorizationRequestIdPattern.test(trimmed)) return { kind: "request_id", id: trimmed };
  return /^\d{1,15}$/.test(trimmed) ? { kind: "log_index", index: Number(trimmed) } : null;
}
