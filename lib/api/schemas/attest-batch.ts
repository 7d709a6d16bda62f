/** POST /v1/attest/batch (docs/wire.md, Attest many). */
import { z } from "zod";
import { attestResponse } from "./attest";
import { sentObject } from "./primitives";
import { problem } from "./problem";

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

export type AttestBatchResponse = z.infer<typeof attestBatchResponse>;
