/** POST /v1/attest (docs/wire.md, Attest), and the zero-knowledge proofs and presentations of what it makes. */
import { z } from "zod";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import {
  BBS_CIPHERSUITE,
  DISCLOSURE_SCHEMA,
  MESSAGE_COUNT,
  MESSAGE_NAMES,
  type MessageName,
  ZK_PROOF_TYPE,
} from "#lib/protocol/presentation/disclosure";
import {
  MAX_AUDIENCE_LENGTH,
  MAX_NONCE_LENGTH,
  PUBLIC_AUDIENCE,
  type ZkCredential,
  type ZkProof,
} from "#lib/protocol/presentation/presentation";
import { backedMethods } from "#lib/protocol/statement/human-approval";
import { traceparentPattern } from "#lib/protocol/statement/parent";
import {
  action,
  agentSlug,
  anyObject,
  base64Text,
  boundedText,
  clientGap,
  hexHash,
  inputsHash,
  metadata,
  noNulPattern,
  problem,
  sentObject,
  signatureText,
  timestamp,
  verdict,
} from "./primitives";

type DisclosableName = Exclude<MessageName, "blinding">;
export const DISCLOSABLE_NAMES = MESSAGE_NAMES.filter((name): name is DisclosableName => name !== "blinding");

export const DEFAULT_LIFETIME_SECONDS = 3_600;
export const lifetimeSeconds = z
  .int("must be a whole number of seconds")
  .min(60, "must be 60-2592000 seconds")
  .max(2_592_000, "must be 60-2592000 seconds");

export const presentationRequest = z
  .strictObject({
    disclose: z
      .array(z.enum(DISCLOSABLE_NAMES, "must be the name of a message that can be disclosed"))
      .max(DISCLOSABLE_NAMES.length, `must have at most ${DISCLOSABLE_NAMES.length} names`)
      .meta({ description: "Names of the messages to disclose, in any order. All others stay hidden." }),
    audience: z
      .string("must be a string")
      .min(1, `must be 1-${MAX_AUDIENCE_LENGTH} characters`)
      .max(MAX_AUDIENCE_LENGTH, `must be 1-${MAX_AUDIENCE_LENGTH} characters`)
      .refine((text) => text !== PUBLIC_AUDIENCE, `must name a verifier, not "${PUBLIC_AUDIENCE}"`)
      .refine((text) => text.isWellFormed(), "must be well-formed text")
      .meta({
        pattern: noNulPattern,
        not: { const: PUBLIC_AUDIENCE },
        description: "The verifier that the presentation is for.",
        examples: ["https://bank.example"],
      }),
    nonce: z
      .string("must be a string")
      .min(1, `must be 1-${MAX_NONCE_LENGTH} characters`)
      .max(MAX_NONCE_LENGTH, `must be 1-${MAX_NONCE_LENGTH} characters`)
      .refine((text) => text.isWellFormed(), "must be well-formed text")
      .meta({
        pattern: noNulPattern,
        description: "Chosen by the verifier, so an old presentation can't be reused.",
      }),
    expires_in: lifetimeSeconds.nullish().meta({
      description: `How many seconds the presentation is valid. Default: ${DEFAULT_LIFETIME_SECONDS}.`,
    }),
  })
  .meta({ id: "PresentationRequest" });

export type PresentationRequest = z.output<typeof presentationRequest>;

/*
 * Zero-knowledge proofs and credentials on the wire (BBS selective disclosure); the shapes of
 * lib/protocol/presentation/presentation.ts.
 */

const base64Url = z.string().meta({ description: "base64url without padding" });

/** Proof as given to a verifier: the public proof of GET /v1/verify/:id, or a presentation for one audience. */
export const zkProof = z
  .strictObject({
    type: z.string().meta({ examples: [ZK_PROOF_TYPE] }),
    ciphersuite: z.string().meta({ examples: [BBS_CIPHERSUITE] }),
    schema: z.string().meta({ examples: [DISCLOSURE_SCHEMA] }),
    kid: z.string().meta({ description: "base64url SHA-256 of the public key; pin it" }),
    public_key: base64Url,
    header: base64Url,
    presentation_header: base64Url.meta({
      description: 'canonical JSON of {aud, exp, iat, nonce}, or of {attestation_id, aud: "public"}',
    }),
    total_messages: z.int().meta({ examples: [MESSAGE_COUNT] }),
    disclosed: z.record(z.string().regex(/^\d{1,2}$/), z.string()).meta({
      description:
        'index of the message → its canonical text, for example {"18": "[\\"human_approved\\",true]"}',
    }),
    proof: base64Url,
  })
  .meta({ id: "ZkProof" }) satisfies z.ZodType<ZkProof>;

/** For the owner alone: with the signature, guesses of the hidden messages could be tested. */
const zkCredential = z
  .strictObject({
    kid: z.string(),
    public_key: base64Url,
    header: base64Url,
    signature: base64Url,
    messages: z.array(z.string()).length(MESSAGE_COUNT),
  })
  .meta({ id: "ZkCredential" }) satisfies z.ZodType<ZkCredential>;

interface ApprovalFields {
  human_approved?: boolean | null | undefined;
  human_authorization?: JsonObject | null | undefined;
}
const isApproved = (body: ApprovalFields) =>
  body.human_approved === true || Boolean(body.human_authorization);

const clientNumber = z
  .strictObject({
    instance: boundedText(1, 64).meta({ description: "which of the agent's writers counts" }),
    sequence: z
      .number("must be a number")
      .int("must be a whole number")
      .min(1, "must be at least 1")
      .meta({ description: "counts the attestations of this instance from 1" }),
  })
  .meta({ id: "ClientNumber" });

const parentLink = z
  .strictObject({
    id: z.uuid("must be a UUID").meta({ description: "its `attestation_id`" }),
    payload_hash: z.string("must be a string").regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits"),
    origin: boundedText(1, 255).meta({ description: "of the log that has it: `log.origin` of its receipt" }),
  })
  .meta({
    id: "ParentAttestation",
    description:
      "attestation, of this or another instance, by whose authority the agent acts; it isn't looked up",
  });

export const attestBody = z
  .strictObject({
    agent_slug: agentSlug,
    action,
    inputs_hash: inputsHash,
    metadata: metadata.nullish(),
    is_public: z.boolean("must be true or false").nullish(),
    enable_zk: z.boolean("must be true or false").nullish(),
    agent_signature: signatureText.nullish(),
    code_hash: boundedText(1, 128).nullish(),
    model_id: boundedText(1, 128).nullish(),
    tools_used: z.array(boundedText(1, 128)).max(64, "must have at most 64 entries").nullish(),
    client: clientNumber.nullish(),
    parent: parentLink.nullish(),
    traceparent: z
      .string("must be a string")
      .regex(traceparentPattern, "must be a traceparent of W3C Trace Context, version 00")
      .nullish()
      .meta({ description: "the trace that the action is a part of" }),
    human_approved: z
      .boolean("must be true or false")
      .nullish()
      .meta({ description: "not false beside a `human_authorization`" }),
    human_approver_hash: boundedText(1, 128)
      .nullish()
      .meta({ description: "needs `human_approved: true` or a `human_authorization`" }),
    human_authorization: sentObject.nullish(),
  })
  .refine(({ human_authorization, human_approved }) => !human_authorization || human_approved !== false, {
    path: ["human_approved"],
    message: "must not be false beside a human_authorization",
  })
  .refine((body) => typeof body.human_approver_hash !== "string" || isApproved(body), {
    path: ["human_approver_hash"],
    message: "needs human_approved: true",
  })
  .meta({ id: "AttestRequest" });

export type AttestBody = z.infer<typeof attestBody>;

export const logReceipt = z
  .strictObject({
    origin: z.string(),
    index: z.number().int(),
    tree_size: z.number().int(),
    entry: base64Text.meta({ description: "the bytes of the leaf" }),
    inclusion_proof: z.array(z.string()).meta({ description: "base64 of 32-byte hashes, RFC 6962 order" }),
    checkpoint: z.string().meta({ description: "C2SP signed note" }),
  })
  .meta({ id: "LogReceipt" });

export type LogReceipt = z.infer<typeof logReceipt>;

const recordPlace = z
  .strictObject({
    agent_id: z.uuid(),
    sequence: z
      .number()
      .int()
      .meta({ description: "counts the agent's attestations, decisions and changes from 1" }),
    previous: hexHash.meta({ description: "the link of the entry before" }),
  })
  .meta({ id: "RecordPlace" });

const humanApproval = z.union([
  z.strictObject({ method: z.literal("none") }),
  z.strictObject({ method: z.literal("hash"), approver_hash: z.string().nullable() }),
  z.strictObject({
    method: z.enum(backedMethods),
    level: z.string().meta({ description: "of World ID; `none` if no proof of personhood was required" }),
    request_hash: z.string(),
    authorization_hash: z.string(),
    nullifier_hashes: z.array(z.string()),
    approver_ids: z.array(z.string()).meta({ description: "pseudonyms of the enrolled approvers" }),
    environment: z.string(),
    inputs_bound: z.boolean(),
  }),
]);

/** Private content is null for everyone but its owner. */
export const attestationFields = {
  attestation_id: z.uuid(),
  agent_slug: z.string(),
  action: z.string().nullable(),
  inputs_hash: z.string().nullable(),
  timestamp: timestamp.nullable(),
  payload_hash: hexHash,
  signature: base64Text,
  key_id: z.string(),
  public_url: z.url(),
  verify_command: z.string(),
  is_public: z.boolean(),
  has_zk_proof: z.boolean(),
  agent_authenticated: verdict,
  code_hash_verified: verdict,
  tools_authorized: verdict,
  client_gap: clientGap,
  human_approved: z.boolean().nullable(),
  human_approval: humanApproval.nullable(),
  payload: z.string().nullable().meta({ description: "the exact signed bytes, as text" }),
  envelope_signature: base64Text.meta({ description: "Ed25519 over the DSSE pre-authentication encoding" }),
  metadata: anyObject.nullable(),
  code_hash: z.string().nullable(),
  model_id: z.string().nullable(),
  tools_used: z.array(z.string()).nullable(),
  client: clientNumber.nullable(),
  record: recordPlace.nullable().meta({
    description: "its place in the agent's record; null if the log has lost its leaf",
  }),
  log: logReceipt,
};

export const attestResponse = z
  .strictObject({
    ...attestationFields,
    zk: z.strictObject({ proof: zkProof, credential: zkCredential }).optional(),
  })
  .meta({ id: "Attestation" });

export type AttestResponse = z.infer<typeof attestResponse>;

/* POST /v1/attest/batch (docs/wire.md, Attest many). */

export const maxBatchEntries = 100;

export const attestBatchBody = z
  .strictObject({
    attestations: z
      .array(sentObject)
      .min(1, "must have at least 1 entry")
      .max(maxBatchEntries, `must have at most ${maxBatchEntries} entries`)
      .meta({ description: "each as POST /v1/attest takes it" }),
    all_or_nothing: z
      .boolean("must be true or false")
      .nullish()
      .meta({ description: "if one entry is refused, none is recorded" }),
  })
  .meta({ id: "AttestBatchRequest" });

export type AttestBatchBody = z.infer<typeof attestBatchBody>;

const batchResult = z
  .union([
    z.strictObject({ status: z.literal(201), body: attestResponse }),
    z.strictObject({ status: z.number().int().min(400).max(599), body: problem }),
  ])
  .meta({ id: "AttestBatchResult" });

export const attestBatchResponse = z
  .strictObject({
    recorded: z.number().int().meta({ description: "how many entries were recorded" }),
    results: z.array(batchResult).meta({
      description: "in the order of the entries: the status and body that each would have had alone",
    }),
  })
  .meta({ id: "AttestedBatch" });

/* POST /v1/otlp/v1/traces and /logs. */

/** Empty if all was taken. */
export const otlpResponse = z
  .strictObject({
    partialSuccess: z
      .strictObject({
        rejectedSpans: z.string().optional(),
        rejectedLogRecords: z.string().optional(),
        errorMessage: z.string(),
      })
      .optional(),
  })
  .meta({ id: "OtlpResponse" });

/** google.rpc.Status, as far as OTLP has a use for it. */
export const rpcStatus = z.strictObject({ message: z.string() }).meta({ id: "RpcStatus" });

export type AttestBatchResponse = z.infer<typeof attestBatchResponse>;
