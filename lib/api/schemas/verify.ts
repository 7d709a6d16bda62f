/** GET /v1/verify/:id (docs/wire.md, Verify). */
import { z } from "zod";
import { reasonCodes } from "#lib/protocol/statement/reasons";
import { attestationChecks } from "#lib/verifier/checks/verify-statement";
import { attestationFields } from "./attest";
import { anyObject, hexHash } from "./primitives";
import { timeBounds } from "./time";
import { warnings } from "./warnings";
import { zkProof } from "./zk";

const check = z.strictObject({
  name: z.enum(attestationChecks),
  status: z.enum(["pass", "fail", "not_applicable"]),
  reason: z
    .enum(reasonCodes)
    .exactOptional()
    .meta({ description: "why the check did not pass, for programs; absent if it passed" }),
  detail: z.string().meta({ description: "a sentence for people; it may change" }),
});

const recordNeighbour = z.strictObject({
  previous: hexHash.meta({ description: "the link before it" }),
  payload_hash: hexHash,
});

const recordNeighbours = z
  .strictObject({
    before: recordNeighbour.nullable(),
    after: recordNeighbour.nullable(),
    head: z.strictObject({ sequence: z.number().int(), link: hexHash }),
  })
  .meta({ description: "the entries on both sides in the agent's record, and its head" });

export const verifyResponse = z
  .strictObject({
    valid: z.boolean().nullable().meta({
      description:
        "whether the record is authentic: true only if every check ran and none failed, null after erasure. See warnings for what it records",
    }),
    warnings,
    status: z.enum(["recorded", "erased"]),
    erased_at: z.string().nullable(),
    ...attestationFields,
    human_authorization: anyObject.nullable(),
    zk_proof: zkProof.nullable(),
    tool_manifest: z
      .string()
      .nullable()
      .meta({ description: "canonical JSON of the manifest it was compared with" }),
    record_neighbours: recordNeighbours.nullable(),
    time_bounds: timeBounds,
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
