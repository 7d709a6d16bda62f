/** What is authentic and yet bad news, as every answer names it. */
import { z } from "zod";
import { warningCodes } from "#lib/domain/warnings";

export const warnings = z
  .array(
    z.strictObject({
      code: z.enum(warningCodes),
      message: z.string().meta({ description: "a sentence for people; it may name what an agent sent" }),
    }),
  )
  .meta({
    id: "Warnings",
    description:
      "what is authentic and yet bad news, drawn anew from the signed bytes; empty where there is none, and where the record is not authentic",
  });

export const warningsFilter = z
  .enum(["true", "false"], "must be true or false")
  .transform((text) => text === "true")
  .optional()
  .meta({ description: "true: only attestations with warnings; false: only those without" });
