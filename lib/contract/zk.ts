/** Zero-knowledge presentations of an attestation (BBS selective disclosure). */
import { z } from "zod";

export const zkProof = z
  .strictObject({
    type: z.literal("bbs-selective-disclosure/1"),
    ciphersuite: z.string(),
    schema: z.string(),
    kid: z.string(),
    public_key: z.string(),
    header: z.string(),
    presentation_header: z.string(),
    total_messages: z.number().int(),
    disclosed: z.record(z.string().regex(/^\d{1,3}$/), z.string()),
    proof: z.string(),
  })
  .meta({ id: "ZkProof" });

export const zkCredential = z
  .strictObject({
    kid: z.string(),
    public_key: z.string(),
    header: z.string(),
    signature: z.string(),
    messages: z.array(z.string()),
  })
  .meta({ id: "ZkCredential" });

export type ZkProof = z.infer<typeof zkProof>;
export type ZkCredential = z.infer<typeof zkCredential>;
