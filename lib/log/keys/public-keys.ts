/** GET /v1/pubkey and the JWKS: every key that ever signed, with the log indexes for which it is valid. */

import { eq } from "drizzle-orm";
import type { z } from "zod";
import { SerializedJson } from "#lib/api/http/problem";
import type { pubkeyResponse } from "#lib/api/schemas/keys";
import { signingKeys } from "#lib/db/schema";
import type { LogContext } from "#lib/log/context";
import { readOpenHead } from "#lib/log/reading/reader";
import { type PublishedKey, readLogs } from "#lib/log/signing/signing-keys";
import { readCosignedSizes } from "#lib/log/witness/cosigned-checkpoints";
import { base64Encode, base64UrlEncode, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { Certificate } from "#lib/protocol/encoding/certificate";
import {
  computeDsseKeyId,
  computeJwkThumbprint,
  encodePublicKeyJwk,
  encodePublicKeySpki,
} from "#lib/protocol/keys/ed25519";
import { BBS_CIPHERSUITE, DISCLOSURE_SCHEMA } from "#lib/protocol/presentation/disclosure";
import { computeLogId } from "#lib/protocol/statement/bundle";
import { encodeVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { pathOfLog } from "#lib/protocol/tlog/log-leaf";
import { encodeWitnessPolicy } from "#lib/protocol/tlog/witness-policy";
import { listKeyEvents } from "./key-events";

async function readZkKeys(context: LogContext, events: Awaited<ReturnType<typeof listKeyEvents>>) {
  const rows = await context.database.db.select().from(signingKeys).where(eq(signingKeys.purpose, "zk"));
  const keys = rows.map((row) => {
    const made = events.find(
      (event) => event.purpose === "zk" && event.event === "made" && event.subjectKeyId === row.key_id,
    );
    if (!made) throw new Error(`the BBS key ${row.key_id} was never endorsed`);
    const { log_origin, index, payload, signature, envelope_signature, key_id } = made;
    return {
      kid: row.key_id,
      public_key: base64UrlEncode(row.public_key),
      status: row.status,
      endorsement: { log_origin, index, payload, signature, envelope_signature, key_id },
    };
  });
  const active = keys.find(({ status }) => status === "active");
  if (!active) throw new Error("there is no active BBS key");
  return {
    ciphersuite: BBS_CIPHERSUITE,
    schema: DISCLOSURE_SCHEMA,
    kid: active.kid,
    public_key: active.public_key,
    keys,
  };
}

type LogRow = Awaited<ReturnType<typeof readLogs>>[number];

/** The signed statement of leaf 0 that names the log before; null for the first log. */
function describeEpoch(log: LogRow) {
  const { epoch_payload, epoch_signature, epoch_envelope_signature, epoch_key_id } = log;
  if (!epoch_payload || !epoch_signature || !epoch_envelope_signature || epoch_key_id === null) return null;
  return {
    payload: utf8Decode(epoch_payload),
    signature: base64Encode(epoch_signature),
    envelope_signature: base64Encode(epoch_envelope_signature),
    key_id: epoch_key_id,
  };
}

/** The policy, and how far each witness has come; null if none is set. */
async function describeWitnesses({ settings, database }: LogContext, logVkey: string) {
  if (settings.WITNESSES === undefined) return null;
  const { threshold, witnesses } = settings.WITNESSES;
  const { id } = await readOpenHead(database.db);
  const cosigned = await readCosignedSizes(database.db, id);
  const members = witnesses.flatMap(({ keys, url }) => keys.map((key) => ({ key, url })));
  const describe = ({ key, url }: (typeof members)[number]) => ({
    name: key.name,
    vkey: encodeVerifierKey(key),
    url,
    cosigned_size: cosigned.get(key.name)?.size ?? null,
    cosigned_at: cosigned.get(key.name)?.cosignedAt?.toISOString() ?? null,
  });
  const isPostQuantum = ({ key }: (typeof members)[number]) => key.type === 6;
  return {
    threshold,
    policy: encodeWitnessPolicy(settings.WITNESSES, logVkey),
    members: members.filter((one) => !isPostQuantum(one)).map(describe),
    // Verifiers of 1.0.0 refuse a file whose `members` have a key of a type that they don't know.
    post_quantum_members: members.filter(isPostQuantum).map(describe),
  };
}

async function describeKeys(
  context: LogContext,
  keys: PublishedKey[],
): Promise<z.infer<typeof pubkeyResponse>> {
  const active = keys.find(({ status }) => status === "active");
  if (!active) throw new Error("there is no active signing key");
  const { db } = context.database;
  const events = await listKeyEvents(db);
  const logs = (await readLogs(db)).map((log) => ({
    origin: log.origin,
    vkey: encodeVerifierKey(log.key),
    post_quantum_vkey: log.postQuantumKey && encodeVerifierKey(log.postQuantumKey),
    url: `${context.settings.baseUrl}${pathOfLog(log.id)}`,
    size: log.size,
    closed_at: log.closed_at?.toISOString() ?? null,
    opened_by: describeEpoch(log),
  }));
  const open = logs.find((log) => log.closed_at === null);
  if (!open) throw new Error("the database has no open log");
  const { origin, vkey, post_quantum_vkey, url } = open;
  const witnesses = await describeWitnesses(context, vkey);
  const time_authorities = context.timeAuthorities.map(encodeCertificatePem);
  return {
    key_id: active.keyId,
    algorithm: "Ed25519" as const,
    public_key: base64Encode(active.publicKey),
    public_key_pem: active.publicKeyPem,
    created_at: active.createdAt.toISOString(),
    usage:
      "Ed25519 (RFC 8032) over the exact bytes of an attestation's payload; see independent_verification of GET /v1/verify/{id}",
    keys: keys.map((key) => ({
      key_id: key.keyId,
      dsse_keyid: computeDsseKeyId(key.publicKey),
      public_key: base64Encode(key.publicKey),
      public_key_pem: key.publicKeyPem,
      status: key.status,
      log_origin: key.logOrigin,
      valid_from_index: key.validFromIndex,
      valid_to_index: key.validToIndex,
      created_at: key.createdAt.toISOString(),
      retired_at: key.retiredAt?.toISOString() ?? null,
    })),
    log: { origin, vkey, post_quantum_vkey, url, witnesses, time_authorities },
    logs,
    zk: await readZkKeys(context, events),
    key_events: events.map(({ log_origin, index, payload, signature, envelope_signature, key_id }) => ({
      log_origin,
      index,
      payload,
      signature,
      envelope_signature,
      key_id,
    })),
  };
}

export const readPublicKeys = async (context: LogContext) =>
  describeKeys(context, await context.keys.published());

/** Answers by the list of published keys, which is read again every second. */
const written = new WeakMap<PublishedKey[], Promise<SerializedJson>>();

export async function writePublicKeys(context: LogContext): Promise<SerializedJson> {
  const keys = await context.keys.published();
  const known = written.get(keys);
  if (known !== undefined) return known;
  const made = describeKeys(context, keys).then(SerializedJson.of);
  written.set(keys, made);
  made.catch(() => written.delete(keys));
  return made;
}

/** RFC 7517; `kid` is the RFC 7638 thumbprint. */
export async function readJwks(context: LogContext) {
  const keys = await context.keys.published();
  // A key that signed in more than one log is in the list once, in its current state.
  const byId = new Map(keys.map((key) => [key.keyId, key]));
  return {
    keys: [...byId.values()].map(({ publicKey, status }) => ({
      ...encodePublicKeyJwk(publicKey),
      kid: computeJwkThumbprint(publicKey),
      use: "sig",
      alg: "EdDSA",
      status,
    })),
  };
}

/**
 * TrustedRoot of Sigstore (github.com/sigstore/protobuf-specs, sigstore_trustroot.proto) as protobuf's JSON: the logs alone.
 * Who attests has no certificate: a client takes the service's key beside it (GET /v1/pubkey).
 */
export async function readTrustedRoot({ database, settings }: LogContext) {
  const logs = await readLogs(database.db);
  return {
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: logs.map(({ id, key, created_at }) => {
      const logId = { keyId: base64Encode(computeLogId(key)) };
      return {
        baseUrl: `${settings.baseUrl}${pathOfLog(id)}`,
        hashAlgorithm: "SHA2_256",
        publicKey: {
          rawBytes: base64Encode(encodePublicKeySpki(key.publicKey)),
          keyDetails: "PKIX_ED25519",
          // Clients compare it with whole seconds of entries.
          validFor: { start: created_at.toISOString().replace(/\.\d+/, "") },
        },
        logId,
        checkpointKeyId: logId,
      };
    }),
  };
}

function encodeCertificatePem({ raw }: Certificate): string {
  const lines = base64Encode(raw).match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
