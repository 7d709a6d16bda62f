/** The portal's list of attestations: filters of its address bar, columns of its exports. */
import { z } from "zod";
import { agentSlug } from "./primitives";

const day = z.iso.date();
/** A filter that is empty or makes no sense is no filter: an address that a person edited still shows a list. */
const filter = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

export const approvalMethods = ["none", "hash", "proof_of_personhood"] as const;

export const attestationFilters = z.object({
  q: filter(z.string().min(1).max(1000)),
  agent: filter(agentSlug),
  visibility: filter(z.enum(["public", "private"])),
  approval: filter(z.enum(approvalMethods)),
  from: filter(day),
  until: filter(day),
});

export type AttestationFilters = z.output<typeof attestationFilters>;

export const cursorId = filter(z.uuid());
