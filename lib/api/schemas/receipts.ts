/** The caller's attestations, and erasing their content. */
import { z } from "zod";
import { approvalMethods } from "#lib/protocol/statement/human-approval";
import { reasonCodes } from "#lib/protocol/statement/reasons";
import { attestationChecks } from "#lib/verifier/checks/verify-statement";
import { attestationFields, zkProof } from "./attest";
import { feedEntry } from "./identity";
import { agentSlug, anyObject, cursorQuery, hexHash, isCalendarTime, timestamp } from "./primitives";
import { timeBounds, warnings, warningsFilter } from "./record";

const dateOrTime = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);
const isDateOrTime = (text: string) => dateOrTime.safeParse(text).success;

/** One string in the OpenAPI document: generators of clients can't tell two formats apart. */
const moment = z
  .string("must be a date or a date and time (RFC 3339)")
  .refine(isDateOrTime, "must be a date or a date and time (RFC 3339)")
  .transform((text) => new Date(text))
  .refine(isCalendarTime, "must be in the years 0001-9999");

export const listAttestationsQuery = cursorQuery.extend({
  agent_slug: agentSlug.optional(),
  human_approval_method: z.enum(approvalMethods, `must be one of ${approvalMethods.join(", ")}`).optional(),
  warnings: warningsFilter,
  from: moment
    .optional()
    .meta({ description: "created at this time or later: a date or a date and time (RFC 3339)" }),
  to: moment
    .optional()
    .meta({ description: "created before this time: a date or a date and time (RFC 3339)" }),
  q: z
    .string()
    .min(1, "must be 1-200 characters")
    .max(200, "must be 1-200 characters")
    .refine((text) => text.isWellFormed() && !text.includes("\0"), "must be well-formed text")
    .optional()
    .meta({ description: "part of the action, ignoring case" }),
});

export type ListAttestationsQuery = z.output<typeof listAttestationsQuery>;

/** An erased attestation has null for all that its payload held. */
export const ownAttestation = feedEntry
  .extend({
    agent_slug: z.string(),
    is_public: z.boolean(),
    status: z.enum(["recorded", "erased"]),
    erased_at: timestamp.nullable(),
    created_at: timestamp,
    title: z.string().nullable().meta({
      description:
        "what ran, at most 80 characters: the command or the most telling argument, with secrets masked; only for its organization",
    }),
  })
  .meta({ id: "OwnAttestation" });

export const ownAttestationsResponse = z
  .strictObject({ attestations: z.array(ownAttestation), next_cursor: z.string().nullable() })
  .meta({ id: "OwnAttestations" });

export type OwnAttestation = z.infer<typeof ownAttestation>;
export type OwnAttestationsResponse = z.infer<typeof ownAttestationsResponse>;

export const eraseResponse = z
  .strictObject({
    attestation_id: z.uuid(),
    status: z.literal("erased"),
    erased_at: timestamp,
    payload_hash: hexHash,
    message: z.string(),
  })
  .meta({ id: "Erasure" });

export type EraseResponse = z.infer<typeof eraseResponse>;

/* GET /v1/verify/:id (docs/wire.md, Verify). */

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
