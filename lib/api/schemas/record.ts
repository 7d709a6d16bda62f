/** GET /v1/agent/:slug/record: the complete list of an agent's entries, by their hashes. */
import { z } from "zod";
import { recordSnapshot } from "./log";
import { hexHash, numberedPage } from "./primitives";

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
