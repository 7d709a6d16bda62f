/** POST /v1/attestations/:id/presentations: which messages to disclose, and to whom. */
import { z } from "zod";
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
import { noNulPattern } from "./primitives";

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
export const zkCredential = z
  .strictObject({
    kid: z.string(),
    public_key: base64Url,
    header: base64Url,
    signature: base64Url,
    messages: z.array(z.string()).length(MESSAGE_COUNT),
  })
  .meta({ id: "ZkCredential" }) satisfies z.ZodType<ZkCredential>;
