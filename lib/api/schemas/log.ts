/** The service's own statements in the log, and a record's place in the newest snapshot of all records' heads. */
import { z } from "zod";
import { logReceipt } from "./attest";
import { base64Text, numberedPage } from "./primitives";

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

export const recordSnapshot = z
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
