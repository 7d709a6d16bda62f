/** The portal's form for an evidence pack: an agent, and whole days in UTC. */
import { z } from "zod";
import { agentSlug } from "./primitives";

const dayMs = 86_400_000;
const day = z.iso
  .date("must be a date")
  .refine((text) => text >= "2000-01-01" && text < "9999-12-31", "must be a date after 2000");

/** `until` is the last day of the period. */
export const evidenceForm = z
  .object({ agent: agentSlug, from: day, until: day, private: z.literal("on").optional() })
  .refine(({ from, until }) => from <= until, {
    path: ["until"],
    message: "must not be before the first day",
  })
  .transform((form) => ({
    agentSlug: form.agent,
    withPrivate: form.private === "on",
    period: {
      from: new Date(`${form.from}T00:00:00Z`).toISOString(),
      to: new Date(Date.parse(`${form.until}T00:00:00Z`) + dayMs).toISOString(),
    },
  }));
