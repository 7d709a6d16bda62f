/**
 * Zero-knowledge proofs and credentials on the wire (BBS selective disclosure); the shapes of
 * lib/protocol/presentation/presentation.ts.
 */
import { z } from "zod";
import {
  BBS_CIPHERSUITE,
  DISCLOSURE_SCHEMA,
  MESSAGE_COUNT,
  ZK_PROOF_TYPE,
} from "#lib/protocol/presentation/disclosure";
import type { ZkCredential, ZkProof } from "#lib/protocol/presentation/presentation";

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
