/**
 * Trust of the verifier: the keys of GET /v1/pubkey, fetched or kept in a file, or keys that the user pins. Pinning means that
 * the key reached the verifier another way, or earlier, than the receipt. Keys that the same server sends along with the
 * receipt only show that the server agrees with itself.
 */
import { base64UrlDecode, bytesEqual, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { computeKeyId, parsePublicKey, verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import type { TrustedKey } from "#lib/protocol/statement/receipt";
import { KEY_EVENT_PREDICATE, parseCanonical } from "#lib/protocol/statement/statement";
import { parseVerifierKey, readOrigin, type VerifierKey } from "#lib/protocol/tlog/checkpoint";
import type { VerificationKey } from "#lib/protocol/world-id/groth16";
import {
  decodeBase64,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "./evidence";

export interface VerifierTrust {
  /** Keys of attestations, decisions and key events, retired ones too. */
  keys: TrustedKey[];
  /** Keys of all logs there were; a checkpoint names its own. */
  logKeys: VerifierKey[];
  /** Keys of the logs' second signature, by ML-DSA-44; none of a log that has no such key. */
  postQuantumKeys?: VerifierKey[];
  /** Raw BBS public keys, retired ones too. */
  zkKeys: Uint8Array[];
  /** Vouches only for a proof shown together with its payload. */
  revokedZkKeys: Uint8Array[];
  /** Witnesses whose cosignatures count as times. */
  witnesses?: VerifierKey[];
  /** Certificates that time stamps must lead to, in PEM: read where a stamp is. */
  timeAuthorities?: string[];
  /** World's v4 verifying key; without it v4 proofs are "checked by World". */
  worldV4Key?: VerificationKey;
}

const isPostQuantum = ({ type }: VerifierKey): boolean => type === 6;

export interface Pins {
  /** PEM, or base64 of the raw 32 bytes. */
  keys: string[];
  /** C2SP verifier keys. */
  logVkeys: string[];
  witnessVkeys: string[];
  /** PEM */
  timeCertificates: string[];
}

/** Parses the answer of GET /v1/pubkey, text or value. Throws {@link UnreadableError}. */
export function parseTrust(json: unknown): VerifierTrust {
  const object = readObject(json);
  const log = requireObject(object, "log");
  const logs = [log, ...readObjects(object["logs"], "logs")];
  const zk = isJsonObject(object["zk"]) ? readObjects(object["zk"]["keys"], "zk.keys") : [];
  const isRevoked = (key: JsonObject) => key["status"] === "revoked";
  return {
    keys: refuseTwice(readObjects(object["keys"], "keys").map(readKey)),
    logKeys: readLogKeys(logs.map((one) => requireText(one, "vkey"))),
    postQuantumKeys: readLogKeys(
      logs.flatMap((one) =>
        (one["post_quantum_vkey"] ?? null) === null ? [] : [requireText(one, "post_quantum_vkey")],
      ),
    ).filter(isPostQuantum),
    witnesses: readWitnesses(log),
    timeAuthorities: readCertificates(log["time_authorities"]),
    zkKeys: zk.filter((key) => !isRevoked(key)).map(readZkKey),
    revokedZkKeys: zk.filter(isRevoked).map(readZkKey),
  };
}

/**
 * Keeps of the server's keys only what the pins vouch for. A pinned attestation key is trusted for the log indexes that
 * the server states (that can only narrow it), or for all; so are the successors that it has signed over to when it was
 * retired. The log's and the BBS keys are accepted if a trusted key has signed their creation. Nothing vouches for
 * witnesses and time-stamp authorities but the pins themselves.
 */
export function applyPins(answer: unknown, pins: Pins): VerifierTrust {
  const object = answer === null ? null : readObject(answer);
  const served =
    object === null ? { keys: [], logKeys: [], zkKeys: [], revokedZkKeys: [] } : parseTrust(object);
  const pinned = readLogKeys(pins.logVkeys);
  const logKeys = pinned.filter((key) => !isPostQuantum(key));
  const ownPostQuantum = pinned.filter(isPostQuantum);
  const servedPostQuantum = served.postQuantumKeys ?? [];
  const clocks = {
    witnesses: readLogKeys(pins.witnessVkeys),
    timeAuthorities: pins.timeCertificates,
  };
  const isClockPinned = clocks.witnesses.length + clocks.timeAuthorities.length > 0;
  if (pins.keys.length === 0)
    return {
      ...served,
      ...(logKeys.length > 0 && { logKeys }),
      ...(ownPostQuantum.length > 0 && { postQuantumKeys: ownPostQuantum }),
      ...(isClockPinned && clocks),
    };
  const events = object === null ? [] : readKeyEvents(object);
  const keys = followSuccessors(pins.keys.map(readPin), events).flatMap((key) => pinKey(key, served.keys));
  const isEndorsed = (purpose: string, publicKey: Uint8Array) =>
    events.some(
      (event) =>
        event.purpose === purpose &&
        event.names.some((name) => bytesEqual(name, publicKey)) &&
        keys.some((key) => isSignedBy(event, key.publicKey)),
    );
  return {
    ...clocks,
    keys,
    logKeys:
      logKeys.length > 0 ? logKeys : served.logKeys.filter(({ publicKey }) => isEndorsed("log", publicKey)),
    postQuantumKeys:
      ownPostQuantum.length > 0
        ? ownPostQuantum
        : servedPostQuantum.filter(({ publicKey }) => isEndorsed("log_post_quantum", publicKey)),
    zkKeys: served.zkKeys.filter((publicKey) => isEndorsed("zk", publicKey)),
    revokedZkKeys: served.revokedZkKeys.filter((publicKey) => isEndorsed("zk", publicKey)),
  };
}

/**
 * Rejects a key with two ranges in one log: one range may be from before the key was revoked. The service lists each
 * key once per log.
 */
function refuseTwice(keys: TrustedKey[]): TrustedKey[] {
  for (const [i, { keyId, logOrigin }] of keys.entries()) {
    const isSame = (other: TrustedKey) =>
      other.keyId === keyId && (other.logOrigin ?? logOrigin) === (logOrigin ?? other.logOrigin);
    if (keys.slice(0, i).some(isSame)) throw new UnreadableError(`keys: ${keyId} is there twice for one log`);
  }
  return keys;
}

/** Empty for a service without witnesses. */
function readWitnesses(log: JsonObject): VerifierKey[] {
  const { witnesses } = log;
  if (witnesses === undefined || witnesses === null) return [];
  if (!isJsonObject(witnesses)) return [];
  const members = ["members", "post_quantum_members"].flatMap((list) =>
    readObjects(witnesses[list], `log.witnesses.${list}`),
  );
  return readLogKeys(members.map((member) => requireText(member, "vkey")));
}

function readCertificates(list: JsonValue | undefined): string[] {
  if (list === undefined) return [];
  if (!Array.isArray(list) || !list.every((one) => typeof one === "string"))
    throw new UnreadableError("log.time_authorities: expected a list of texts");
  return list as string[];
}

function readPin(text: string): Uint8Array {
  const parsed = parsePublicKey(text);
  if (!parsed.ok) throw new UnreadableError(`--key: ${parsed.problem}`);
  return parsed.publicKey;
}

function pinKey(publicKey: Uint8Array, served: TrustedKey[]): TrustedKey[] {
  const ranges = served.filter((key) => bytesEqual(key.publicKey, publicKey));
  if (ranges.length > 0) return ranges;
  return [{ keyId: computeKeyId(publicKey), publicKey, validFromIndex: 0, validToIndex: null }];
}

interface KeyEvent {
  payload: Uint8Array;
  signature: Uint8Array;
  event: string;
  purpose: string;
  subject: Uint8Array;
  successor: Uint8Array | null;
  names: Uint8Array[];
}

function isSignedBy({ signature, payload }: KeyEvent, publicKey: Uint8Array): boolean {
  return verifyEd25519Strict(signature, payload, publicKey);
}

/** A retired key names its successor in a statement that it signs itself. */
function followSuccessors(pinned: Uint8Array[], events: KeyEvent[]): Uint8Array[] {
  const trusted = [...pinned];
  for (const key of trusted) {
    for (const event of events) {
      const { successor } = event;
      const isOwn =
        event.purpose === "attestation" && event.event === "retired" && bytesEqual(event.subject, key);
      if (successor === null || !isOwn || trusted.some((known) => bytesEqual(known, successor))) continue;
      if (isSignedBy(event, key)) trusted.push(successor);
    }
  }
  return trusted;
}

function readKeyEvents(answer: JsonObject): KeyEvent[] {
  return readObjects(answer["key_events"], "key_events").flatMap((row) => {
    const payload = utf8Encode(requireText(row, "payload"));
    const signature = decodeBase64(requireText(row, "signature"), "key_events.signature", 64);
    const statement = parseCanonical(payload);
    const predicate = statement?.["predicateType"] === KEY_EVENT_PREDICATE && statement["predicate"];
    if (!isJsonObject(predicate)) return [];
    const event = requireText(predicate, "event");
    const subject = readPublicKey(predicate);
    const successor = isJsonObject(predicate["successor"]) ? readPublicKey(predicate["successor"]) : null;
    const names = [...(event === "made" ? [subject] : []), ...(successor === null ? [] : [successor])];
    return [
      { payload, signature, event, purpose: requireText(predicate, "purpose"), subject, successor, names },
    ];
  });
}

function readPublicKey(half: JsonObject): Uint8Array {
  return decodeBase64(requireText(half, "public_key"), "key_events.public_key");
}

/** The checkpoint is the attacker's, so it may only choose among trusted keys. */
export function chooseLogKey(checkpoint: string, { logKeys }: VerifierTrust): VerifierKey {
  const [first] = logKeys;
  if (first === undefined) throw new UnreadableError("no key of the log is trusted");
  const origin = readOrigin(checkpoint);
  return logKeys.find(({ name }) => name === origin) ?? first;
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
    validFromIndex: requireIndex(key, "valid_from_index"),
    validToIndex: key["valid_to_index"] === null ? null : requireIndex(key, "valid_to_index"),
    ...(key["log_origin"] !== undefined && { logOrigin: requireText(key, "log_origin") }),
    ...(key["status"] === "revoked" && { isRevoked: true }),
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
