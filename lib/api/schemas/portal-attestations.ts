/** The portal's list of attestations: filters of its address bar, columns of its exports. */
import { z } from "zod";
import { approvalMethods } from "#lib/protocol/statement/statement";
import { lifetimeSeconds, presentationRequest } from "./presentation";
import { agentSlug, textOf } from "./primitives";

/** With a day after it. */
const day = z.iso.date().refine((text) => text >= "0001-01-01" && text < "9999-12-31");
/** A filter that is empty or makes no sense is no filter: an address that a person edited still shows a list. */
const filter = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

export const attestationFilters = z.object({
  q: filter(textOf(1, 1000)),
  agent: filter(agentSlug),
  visibility: filter(z.enum(["public", "private"])),
  approval: filter(z.enum(approvalMethods)),
  warnings: filter(z.enum(["true", "false"])),
  from: filter(day),
  until: filter(day),
});

export type AttestationFilters = z.output<typeof attestationFilters>;

export const cursorId = filter(z.uuid());
/** As the lists of the API hand them out. */
export const cursorText = filter(z.string().regex(/^[A-Za-z0-9_-]{1,200}$/));

export const exportFormats = ["csv", "ndjson"] as const;
export type ExportFormat = (typeof exportFormats)[number];
export const exportFormat = z.enum(exportFormats).catch("ndjson");

const disclosable = presentationRequest.shape;

export const attestationForm = z.object({ attestation_id: z.uuid() });

/** The form for a presentation; `expires_in` comes as text. */
export const presentationForm = z.object({
  attestation_id: z.uuid(),
  disclose: z.preprocess((value) => (value === undefined ? [] : [value].flat()), disclosable.disclose),
  audience: disclosable.audience,
  nonce: disclosable.nonce,
  expires_in: z.coerce.number().pipe(lifetimeSeconds),
});
