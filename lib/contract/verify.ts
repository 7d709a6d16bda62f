/** GET /v1/verify/:id (api.md section 4). */
import { z } from "zod";
import { attestationFields } from "./attest";
import { anyObject } from "./primitives";
import { zkProof } from "./zk";

/** The fixed list: `valid` needs every one of them to have run and none to have failed. */
export const checkNames = [
  "payload_hash",
  "signature",
  "key_validity",
  "log_inclusion",
  "checkpoint_signature",
  "agent_signature",
  "code_hash",
  "tools",
  "human_authorization",
  "zk_proof",
] as const;

export const check = z.strictObject({
  name: z.enum(checkNames),
  status: z.enum(["pass", "fail", "not_applicable"]),
  detail: z.string(),
});

export const verifyResponse = z
  .strictObject({
    valid: z.boolean().nullable(),
    status: z.enum(["recorded", "erased"]),
    erased_at: z.string().nullable(),
    ...attestationFields,
    human_authorization: anyObject.nullable(),
    zk_proof: zkProof.nullable(),
    tool_manifest: z.string().nullable().meta({ description: "canonical JSON of the manifest it was compared with" }),
    checks: z.array(check),
    independent_verification: z.strictObject({
      public_key_pem: z.string(),
      curl_pubkey: z.string(),
      recreate_payload: z.string().nullable(),
      verify_signature: z.string().nullable(),
    }),
  })
  .meta({ id: "Verification" });

export type VerifyResponse = z.infer<typeof verifyResponse>;
