/**
 * Whom the verifier trusts: the keys of GET /v1/pubkey (api.md section 6), fetched or kept in a file, or keys
 * that the user pins by himself. Pinning means that the key came to the verifier over another way than the
 * receipt, at an earlier time: keys that the same server sends along with the receipt show only that the server
 * agrees with itself.
 */
import { base64UrlDecode, bytesEqual, utf8Encode } from "#lib/domain/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/domain/canonical-json";
import { parseCheckpoint } from "#lib/domain/checkpoint";
import { verifyEd25519Strict } from "#lib/domain/ed25519";
import { computeKeyId, parsePublicKey } from "#lib/domain/ed25519-key";
import type { VerificationKey } from "#lib/domain/groth16";
import { parseNote, parseVerifierKey, type VerifierKey } from "#lib/domain/signed-note";
import { KEY_EVENT_PREDICATE, parseCanonical } from "#lib/domain/statement";
import type { TrustedKey } from "#lib/domain/verify";
import {
  decodeBase64,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "./read-json";

export interface VerifierTrust {
  /** Keys of attestations, decisions and key events, retired ones too. */
  keys: TrustedKey[];
  /** One for each log there was; a checkpoint names its own. */
  logKeys: VerifierKey[];
  /** Raw BBS public keys. */
  zkKeys: Uint8Array[];
  /** World's v4 verifying key; without it v4 proofs are "checked by World". */
  worldV4Key?: VerificationKey;
}

export interface Pins {
  /** PEM, or base64 of the raw 32 bytes. */
  keys: string[];
  /** C2SP verifier keys. */
  logVkeys: string[];
}

/** From the answer of GET /v1/pubkey, text or value. Throws {@link UnreadableError}. */
export function parseTrust(json: unknown): VerifierTrust {
  const object = readObject(json);
  const log = requireObject(object, "log");
  const logs = [log, ...readObjects(object["logs"], "logs")];
  const zk = isJsonObject(object["zk"]) ? object["zk"] : null;
  return {
    keys: readObjects(object["keys"], "keys").map(readKey),
    logKeys: readLogKeys(logs.map((one) => requireText(one, "vkey"))),
    zkKeys: zk === null ? [] : readObjects(zk["keys"], "zk.keys").map(readZkKey),
  };
}

/**
 * Keeps of the server's keys only what the pins vouch for. A pinned attestation key is trusted for the log
 * indexes that the server states (that can only narrow it) or for all. The log's key and the BBS keys are
 * taken over where a pinned key has signed the event of their making.
 */
export function applyPins(answer: unknown, pins: Pins): VerifierTrust {
  const object = answer === null ? null : readObject(answer);
  const served = object === null ? { keys: [], logKeys: [], zkKeys: [] } : parseTrust(object);
  const logKeys = readLogKeys(pins.logVkeys);
  if (pins.keys.length === 0) return { ...served, ...(logKeys.length > 0 && { logKeys }) };
  const keys = pins.keys.flatMap((text) => pinKey(text, served.keys));
  const endorsed = object === null ? [] : listEndorsed(object, keys);
  const isEndorsed = (purpose: string, publicKey: Uint8Array) =>
    endorsed.some((event) => event.purpose === purpose && bytesEqual(event.publicKey, publicKey));
  return {
    keys,
    logKeys:
      logKeys.length > 0 ? logKeys : served.logKeys.filter(({ publicKey }) => isEndorsed("log", publicKey)),
    zkKeys: served.zkKeys.filter((publicKey) => isEndorsed("zk", publicKey)),
  };
}

/** The checkpoint is the attacker's, so it may only choose among trusted keys. */
export function chooseLogKey(checkpoint: string, { logKeys }: VerifierTrust): VerifierKey {
  const [first] = logKeys;
  if (first === undefined) throw new UnreadableError("no key of the log is trusted");
  try {
    const { origin } = parseCheckpoint(parseNote(checkpoint).text);
    return logKeys.find(({ name }) => name === origin) ?? first;
  } catch {
    return first;
  }
}

function pinKey(text: string, served: TrustedKey[]): TrustedKey[] {
  const parsed = parsePublicKey(text);
  if (!parsed.ok) throw new UnreadableError(`--key: ${parsed.problem}`);
  const { publicKey } = parsed;
  const known = served.filter((key) => bytesEqual(key.publicKey, publicKey));
  if (known.length > 0) return known;
  return [{ keyId: computeKeyId(publicKey), publicKey, validFromIndex: 0, validToIndex: null }];
}

/** Keys whose making a trusted key has signed. */
function listEndorsed(answer: JsonObject, keys: TrustedKey[]): { purpose: string; publicKey: Uint8Array }[] {
  return readObjects(answer["key_events"], "key_events").flatMap((event) => {
    const payload = utf8Encode(requireText(event, "payload"));
    const signature = decodeBase64(requireText(event, "signature"), "key_events.signature", 64);
    if (!keys.some(({ publicKey }) => verifyEd25519Strict(signature, payload, publicKey))) return [];
    const statement = parseCanonical(payload);
    const predicate = statement?.["predicateType"] === KEY_EVENT_PREDICATE && statement["predicate"];
    if (!isJsonObject(predicate) || predicate["event"] !== "made") return [];
    const publicKey = decodeBase64(requireText(predicate, "public_key"), "key_events.public_key");
    return [{ purpose: requireText(predicate, "purpose"), publicKey }];
  });
}

function readObjects(value: JsonValue | undefined, name: string): JsonObject[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || !value.every(isJsonObject))
    throw new UnreadableError(`${name}: expected a list of objects`);
  return value;
}

function readKey(key: JsonObject): TrustedKey {
  const publicKey = decodeBase64(requireText(key, "public_key"), "keys.public_key", 32);
  const keyId = requireText(key, "key_id");
  if (keyId !== computeKeyId(publicKey)) throw new UnreadableError(`keys: ${keyId} is the id of another key`);
  return {
    keyId,
    publicKey,
    ...(typeof key["log_origin"] === "string" && { logOrigin: key["log_origin"] }),
    validFromIndex: requireIndex(key, "valid_from_index"),
    validToIndex: key["valid_to_index"] === null ? null : requireIndex(key, "valid_to_index"),
  };
}

function readLogKeys(vkeys: string[]): VerifierKey[] {
  return vkeys.map((vkey) => {
    try {
      return parseVerifierKey(vkey);
    } catch {
      throw new UnreadableError("vkey: not a C2SP verifier key");
    }
  });
}

function readZkKey(key: JsonObject): Uint8Array {
  try {
    return base64UrlDecode(requireText(key, "public_key"));
  } catch {
    throw new UnreadableError("zk.keys.public_key: not base64url");
  }
}
