/** When a record was made, as others vouch for it (docs/wire.md, Time). */
import { z } from "zod";
import { base64Text, timestamp } from "./primitives";

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
