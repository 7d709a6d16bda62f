/** POST /v1/attestations/:id/presentations: which messages to disclose, and to whom. */
import { z } from "zod";
import { MESSAGE_NAMES, type MessageName } from "#lib/protocol/presentation/disclosure";
import {
  MAX_AUDIENCE_LENGTH,
  MAX_NONCE_LENGTH,
  PUBLIC_AUDIENCE,
} from "#lib/protocol/presentation/presentation-header";
import { noNulPattern } from "./primitives";

type DisclosableName = Exclude<MessageName, "blinding">;
/** Everything but the salt. */
export const DISCLOSABLE_NAMES = MESSAGE_NAMES.filter((name): name is DisclosableName => name !== "blinding");

export const DEFAULT_LIFETIME_SECONDS = 3_600;
export const lifetimeSeconds = z
  .int("must be a whole number of seconds")
  .min(60, "must be 60-2592000 seconds")
  .max(2_592_000, "must be 60-2592000 seconds");

export const presentationRequest = z
  .strictObject({
    disclose: z
      .array(z.enum(DISCLOSABLE_NAMES, "must be the name of a message that can be disclosed"))
      .max(DISCLOSABLE_NAMES.length, `must have at most ${DISCLOSABLE_NAMES.length} names`)
      .meta({ description: "Names of the messages to disclose, in any order. All others stay hidden." }),
    audience: z
      .string("must be a string")
      .min(1, `must be 1-${MAX_AUDIENCE_LENGTH} characters`)
      .max(MAX_AUDIENCE_LENGTH, `must be 1-${MAX_AUDIENCE_LENGTH} characters`)
      .refine((text) => text !== PUBLIC_AUDIENCE, `must name a verifier, not "${PUBLIC_AUDIENCE}"`)
      .refine((text) => text.isWellFormed(), "must be well-formed text")
      .meta({
        pattern: noNulPattern,
        not: { const: PUBLIC_AUDIENCE },
        description: "The verifier that the presentation is for.",
        examples: ["https://bank.example"],
      }),
    nonce: z
      .string("must be a string")
      .min(1, `must be 1-${MAX_NONCE_LENGTH} characters`)
      .max(MAX_NONCE_LENGTH, `must be 1-${MAX_NONCE_LENGTH} characters`)
      .refine((text) => text.isWellFormed(), "must be well-formed text")
      .meta({
        pattern: noNulPattern,
        description: "Chosen by the verifier, so an old presentation can't be reused.",
      }),
    expires_in: lifetimeSeconds.nullish().meta({
      description: `How many seconds the presentation is valid. Default: ${DEFAULT_LIFETIME_SECONDS}.`,
    }),
  })
  .meta({ id: "PresentationRequest" });

export type PresentationRequest = z.output<typeof presentationRequest>;
