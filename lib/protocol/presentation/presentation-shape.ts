/**
 * The shape of a presentation as JSON: every field known, typed and bounded before anything is decoded or
 * handed to the BBS library, whose work grows with the length of what it gets.
 */
import { base64UrlDecode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { BBS_PUBLIC_KEY_BYTES, MESSAGE_COUNT, proofLengthBytes } from "./disclosure";
import type { ZkProof } from "./presentation";

const MAX_MESSAGE_LENGTH = 65_536;
/** Characters of base64url, in the order in which the proof's JSON lists them. */
const MAX_TEXT_LENGTH: Record<Exclude<keyof ZkProof, "total_messages" | "disclosed">, number> = {
  type: 64,
  ciphersuite: 64,
  schema: 256,
  kid: 43,
  public_key: base64UrlLength(BBS_PUBLIC_KEY_BYTES),
  header: 1_024,
  presentation_header: 8_192,
  proof: base64UrlLength(proofLengthBytes(0)),
};
const FIELD_NAMES = [...Object.keys(MAX_TEXT_LENGTH), "total_messages", "disclosed"].sort().join();

function base64UrlLength(bytes: number): number {
  return Math.ceil((bytes * 4) / 3);
}

/** The proof, or a sentence that says what is wrong with its shape. */
export function parseZkProof(value: unknown): ZkProof | string {
  if (!isJsonObject(value)) return "not an object";
  if (Object.keys(value).sort().join() !== FIELD_NAMES) return "fields are missing or unknown";
  for (const [name, maxLength] of Object.entries(MAX_TEXT_LENGTH)) {
    const text = value[name];
    if (typeof text !== "string") return `${name} is not a string`;
    if (text.length > maxLength) return `${name} is longer than ${maxLength} characters`;
  }
  if (typeof value["total_messages"] !== "number") return "total_messages is not a number";
  return describeDisclosedFault(value["disclosed"]) ?? (value as ZkProof);
}

function describeDisclosedFault(disclosed: JsonValue | undefined): string | null {
  if (!isJsonObject(disclosed)) return "disclosed is not an object";
  const texts = Object.values(disclosed);
  if (texts.length > MESSAGE_COUNT) return `disclosed has more than ${MESSAGE_COUNT} messages`;
  if (texts.some((text) => typeof text !== "string" || text.length > MAX_MESSAGE_LENGTH)) {
    return `a disclosed message is not a string of at most ${MAX_MESSAGE_LENGTH} characters`;
  }
  return null;
}

/** Null if the text is not canonical base64url. */
export function decodeOrNull(text: string): Uint8Array | null {
  try {
    return base64UrlDecode(text);
  } catch {
    return null;
  }
}
