/** Bad news in an authentic record, as every response names it. */
import { z } from "zod";
import { warningCodes } from "#lib/protocol/statement/warnings";

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
