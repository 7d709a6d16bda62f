/**
 * GET /v1/agent/:slug/record: the complete list of an agent's entries, by their hashes, with its place in the newest snapshot
 * of all records' heads; and the service's own statements in the log.
 */
import { z } from "zod";
import { warningCodes } from "#lib/protocol/statement/warnings";
import { logReceipt } from "./attest";
import { base64Text, hexHash, numberedPage, timestamp } from "./primitives";

export const statementsQuery = numberedPage("the number of the first statement to show");

export type StatementsQuery = z.infer<typeof statementsQuery>;

const signed = {
  payload: z.string().meta({ description: "the exact signed bytes, as text" }),
  signature: base64Text.meta({ description: "Ed25519 over the payload" }),
  envelope_signature: base64Text.meta({ description: "Ed25519 over the PAE of the DSSE envelope" }),
  key_id: z.string(),
};

const loggedStatement = z.strictObject({
  number: z.number().int(),
  kind: z.enum(["key_event", "epoch", "agent_heads", "ruleset", "approver_roster", "planted_requests"]),
  log_origin: z.string(),
  log_index: z.number().int(),
  ...signed,
});

export const statementsResponse = z
  .strictObject({
    statements: z.array(loggedStatement).meta({ description: "in the order of the log, numbered from 1" }),
    next: z
      .number()
      .int()
      .nullable()
      .meta({ description: "the `from` of the next page; null if this page ends with the last statement" }),
  })
  .meta({ id: "LogStatements" });

export type StatementsResponse = z.infer<typeof statementsResponse>;
export type LoggedStatement = StatementsResponse["statements"][number];

const recordSnapshot = z
  .strictObject({
    rows_url: z.url().meta({ description: "all rows, 72 octets each" }),
    salt: base64Text.meta({ description: "16 bytes from which this agent's tag is made" }),
    row: base64Text.meta({ description: "tag (32 bytes), sequence (8, big-endian), link (32)" }),
    row_index: z.number().int(),
    inclusion_proof: z
      .array(z.string())
      .meta({ description: "of the row in the statement's root: base64 of 32-byte hashes, RFC 6962 order" }),
    statement: z.strictObject({ ...signed, log: logReceipt }),
  })
  .meta({ id: "RecordSnapshot" });

export type RecordSnapshot = z.infer<typeof recordSnapshot>;

export const recordQuery = numberedPage("the sequence of the first entry to show");

export type RecordQuery = z.infer<typeof recordQuery>;

const recordEntry = z.strictObject({
  sequence: z.number().int(),
  kind: z.enum(["attestation", "decision", "agent_change"]),
  payload_hash: hexHash,
  log_origin: z.string(),
  log_index: z.number().int(),
  visibility: z.enum(["public", "private", "erased"]),
  attestation_id: z.uuid().optional().meta({ description: "of public attestations only" }),
  public_url: z.url().optional().meta({ description: "of public attestations only" }),
});

const recordHead = z.strictObject({ sequence: z.number().int(), link: hexHash });

export const recordResponse = z
  .strictObject({
    slug: z.string(),
    agent_id: z.uuid(),
    entries: z.array(recordEntry).meta({ description: "in the order of their sequence, without a gap" }),
    head: recordHead.meta({
      description: "the last entry; sequence 0 and the link of the empty record if there is none",
    }),
    snapshot: recordSnapshot.optional().meta({
      description:
        "where the newest snapshot of all records' heads counts this one; absent while none counts an entry of it",
    }),
    next: z
      .number()
      .int()
      .nullable()
      .meta({ description: "the `from` of the next page; null if this page ends with the last entry" }),
  })
  .meta({ id: "AgentRecord" });

export type RecordResponse = z.infer<typeof recordResponse>;
export type RecordEntry = z.infer<typeof recordEntry>;

/* Bad news in an authentic record, as every response names it. */

export const warnings = z
  .array(
    z.strictObject({
      code: z.enum(warningCodes),
      message: z
        .string()
        .meta({ description: "a sentence for people, which can contain text from an agent" }),
    }),
  )
  .meta({
    id: "Warnings",
    description:
      "what is authentic but bad news, derived from the signed bytes; empty if there is none, and if the record is not authentic",
  });

export const warningsFilter = z
  .enum(["true", "false"], "must be true or false")
  .transform((text) => text === "true")
  .optional()
  .meta({ description: "true: only attestations with warnings; false: only those without" });

/* Bounds of a record's time, vouched for by others (docs/wire.md, Time). */

const bound = z
  .strictObject({
    at: timestamp,
    by: z
      .array(z.string())
      .meta({ description: "whose clocks: names of witnesses and time-stamp authorities, or drand" }),
  })
  .meta({ id: "TimeBound" });

const anchor = z
  .strictObject({
    tree_size: z.number().int(),
    inclusion_proof: z.array(base64Text),
    checkpoint: z.string().meta({ description: "a C2SP signed note with the witnesses' cosignatures" }),
    time_stamps: z.array(
      z.strictObject({
        tsa: z.string().meta({ description: "the authority's address" }),
        response: base64Text.meta({ description: "RFC 3161, over the checkpoint's text" }),
      }),
    ),
  })
  .meta({ id: "Anchor" });

export type AnchorAnswer = z.infer<typeof anchor>;

export const timeBounds = z
  .strictObject({
    made_after: bound.nullable(),
    made_before: bound.nullable(),
    checkpoint: z
      .string()
      .nullable()
      .meta({ description: "the cosigned note that the payload names in not_before" }),
    anchors: z.array(anchor),
  })
  .meta({ id: "TimeBounds" });

export const anchorsResponse = z
  .strictObject({
    attestation_id: z.uuid(),
    payload_hash: z.string(),
    log: z.strictObject({ origin: z.string(), index: z.number().int(), entry: base64Text }),
    anchors: z.array(anchor),
  })
  .meta({ id: "Anchors" });

export type AnchorsResponse = z.infer<typeof anchorsResponse>;
