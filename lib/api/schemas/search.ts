/** GET /v1/search (docs/wire.md, Search): public attestations by something that names one exactly. */
import { z } from "zod";
import { feedEntry } from "./identity";

/** So many are answered at most; the same inputs may be in many reports. */
export const maxSearchResults = 20;

export const searchedBy = [
  "attestation_id",
  "payload_hash",
  "inputs_hash",
  "request_id",
  "log_index",
] as const;

export const searchQuery = z.strictObject({
  q: z.string().min(1, "must be 1-500 characters").max(500, "must be 1-500 characters").meta({
    description:
      "an attestation id or a text that holds one, a SHA-256 of a payload or of inputs (hex, with or without sha256:), a request id, or a log index",
  }),
});

export const searchResponse = z
  .strictObject({
    results: z.array(
      feedEntry.extend({
        agent_slug: z.string(),
        log_index: z.number().int(),
        matched: z.enum(searchedBy).meta({ description: "what the text is of this attestation" }),
      }),
    ),
    has_more: z
      .boolean()
      .meta({ description: `whether more than the newest ${maxSearchResults} have the same inputs` }),
  })
  .meta({ id: "SearchResults" });

export type SearchResponse = z.infer<typeof searchResponse>;
export type SearchResult = SearchResponse["results"][number];
