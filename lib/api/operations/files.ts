/** Responses sent as files: media types, and schemas of those that are JSON inside. */
import { z } from "zod";
import { anyObject, base64Text } from "#lib/api/schemas/primitives";
import { BUNDLE_MEDIA_TYPE } from "#lib/protocol/statement/bundle";
import { SCITT_MEDIA_TYPE } from "#lib/protocol/statement/scitt";
import {
  AGENT_ACTION_PREDICATE,
  STATEMENT_MEDIA_TYPE,
  STATEMENT_TYPE,
} from "#lib/protocol/statement/statement";
import type { FileSpec } from "./operation";

const envelope = z
  .strictObject({
    payload: base64Text,
    payloadType: z.literal(STATEMENT_MEDIA_TYPE),
    signatures: z.array(z.strictObject({ keyid: z.string(), sig: base64Text })).length(1),
  })
  .meta({ id: "DsseEnvelope" });

const decimal = z.string().regex(/^(?:0|[1-9]\d*)$/);

const logEntry = z.strictObject({
  logIndex: decimal,
  logId: z.strictObject({ keyId: base64Text }),
  kindVersion: z.strictObject({ kind: z.string(), version: z.string() }),
  integratedTime: decimal.meta({
    description: "when the log accepted the entry, in Unix seconds; not signed",
  }),
  inclusionProof: z.strictObject({
    logIndex: decimal,
    rootHash: base64Text,
    treeSize: decimal,
    hashes: z.array(base64Text),
    checkpoint: z.strictObject({ envelope: z.string() }),
  }),
  canonicalizedBody: base64Text,
});

const bundle = z
  .strictObject({
    mediaType: z.literal(BUNDLE_MEDIA_TYPE),
    dsseEnvelope: envelope,
    verificationMaterial: z.strictObject({
      publicKey: z.strictObject({ hint: z.string() }),
      tlogEntries: z.array(logEntry).length(1),
    }),
  })
  .meta({ id: "SigstoreBundle" });

const statement = z
  .strictObject({
    _type: z.literal(STATEMENT_TYPE),
    subject: z
      .array(z.strictObject({ name: z.literal("inputs"), digest: z.record(z.string(), z.string()) }))
      .length(1),
    predicateType: z.literal(AGENT_ACTION_PREDICATE),
    predicate: anyObject,
  })
  .meta({ id: "ActionStatement" });

const text = z.string();

export const bundleFile: FileSpec = { mediaType: BUNDLE_MEDIA_TYPE, schema: bundle };
export const envelopeFile: FileSpec = {
  mediaType: "application/vnd.dsse.envelope.v1+json",
  schema: envelope,
};
export const payloadFile: FileSpec = { mediaType: STATEMENT_MEDIA_TYPE, schema: statement };
export const textFile: FileSpec = { mediaType: "text/plain", schema: text };
export const scriptFile: FileSpec = { mediaType: "text/javascript", schema: text };
export const packageFile: FileSpec = {
  mediaType: "application/gzip",
  schema: text.meta({ format: "binary" }),
};
export const wheelFile: FileSpec = { mediaType: "application/zip", schema: text.meta({ format: "binary" }) };
export const scittFile: FileSpec = { mediaType: SCITT_MEDIA_TYPE, schema: text.meta({ format: "binary" }) };
export const bytesFile: FileSpec = {
  mediaType: "application/octet-stream",
  schema: text.meta({ format: "binary" }),
};
