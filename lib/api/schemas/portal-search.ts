/** The portal's search: what its route takes and answers. */
import { z } from "zod";

export const searchQuery = z
  .string()
  .trim()
  .min(2)
  .max(100)
  .refine((text) => !text.includes("\0"))
  .optional()
  .catch(undefined);

export interface SearchHit {
  kind: "Key" | "Agent" | "Attestation" | "Authorization" | "Request";
  label: string;
  href: string;
}
