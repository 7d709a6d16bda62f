/** Agents' registered identities, public feeds and the search (docs/wire.md, Agents and Lists and Search). */
import { z } from "zod";
import { amount } from "./authorize";
import {
  agentSlug,
  anyObject,
  base64Text,
  boundedText,
  clientGap,
  cursorQuery,
  signatureText,
  timestamp,
  verdict,
} from "./primitives";
import { warnings, warningsFilter } from "./record";

const toolName = boundedText(1, 128);
const tools = z
  .array(toolName)
  .max(256, "must have at most 256 entries")
  .refine((names) => new Set(names).size === names.length, "must not name a tool twice")
  .meta({ uniqueItems: true });

/** Base64 of 32 bytes: the last digit carries four bits. Whether they are a point of the curve no pattern can say. */
const rawKey = /^\s*[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=\s*$/;
/** SubjectPublicKeyInfo of RFC 8410, its base64 broken anywhere. */
const pemBody = `${[..."MCowBQYDK2VwAyEA"].join("\\s*")}\\s*(?:[A-Za-z0-9+/]\\s*){42}[AEIMQUYcgkosw048]\\s*=\\s*`;
const pemOrRawKey = new RegExp(
  `^\\s*-----BEGIN PUBLIC KEY-----\\s*${pemBody}-----END PUBLIC KEY-----\\s*$|${rawKey.source}`,
);
const notAKey =
  "neither a PEM Ed25519 public key nor base64 of its 32 bytes; make one with: openssl genpkey -algorithm ed25519 -out agent.pem && openssl pkey -in agent.pem -pubout";

const profile = {
  name: boundedText(1, 100).nullish(),
  description: boundedText(1, 1000).nullish(),
  public_key_pem: z
    .string("must be a string")
    .max(1000, "must be at most 1000 characters")
    .regex(pemOrRawKey, notAKey)
    .meta({ description: "an Ed25519 public key as PEM" })
    .nullish(),
  public_key: z
    .string("must be a string")
    .max(100, "must be at most 100 characters")
    .regex(rawKey, notAKey)
    .meta({ contentEncoding: "base64", description: "its 32 bytes" })
    .nullish(),
  proof_of_possession: signatureText.nullish().meta({
    description:
      "the agent key's signature over the UTF-8 text `countersign-key-possession:<slug as registered>:<base64 of the raw public key>`",
  }),
  code_hash: boundedText(1, 128).nullish(),
  model_id: boundedText(1, 128).nullish(),
};

export const registerBody = z
  .strictObject({ slug: agentSlug, ...profile, tools: tools.nullish() })
  .meta({ id: "RegisterIdentity" });

/** A field left out stays; null clears it. */
export const updateIdentityBody = z.strictObject(profile).meta({ id: "UpdateIdentity" });

export const putToolsBody = z
  .strictObject({ tools, tool_descriptions: z.record(toolName, boundedText(1, 1000)).nullish() })
  .meta({ id: "PutTools" });
export const putToolsResponse = z.strictObject({
  agent_slug: z.string(),
  tool_manifest_hash: z.string(),
  tools: z.array(z.string()),
});

export const keyHistoryEntry = z.strictObject({
  public_key: base64Text,
  status: z.enum(["unproven", "proven"]),
  registered_at: timestamp,
  proven_at: timestamp.nullable(),
  retired_at: timestamp.nullable(),
});

export const identityResponse = z
  .strictObject({
    slug: z.string(),
    name: z.string().nullable(),
    description: z.string().nullable(),
    public_key: base64Text.nullable(),
    public_key_pem: z.string().nullable(),
    key_status: z.enum(["none", "unproven", "proven"]),
    key_history: z.array(keyHistoryEntry).meta({ description: "the newest keys, oldest first" }),
    key_history_cursor: z.string().nullable().meta({
      description: "the `cursor` for older keys at GET /v1/identity/{slug}/keys; null if there are none",
    }),
    code_hash: z.string().nullable(),
    model_id: z.string().nullable(),
    tool_manifest_hash: z.string().nullable(),
    tools: z.array(z.string()).nullable(),
    tool_descriptions: z.record(z.string(), z.string()).nullable(),
    frozen_at: timestamp.nullable().meta({
      description: "since when its organization has it stopped: no approval of it can be given or used",
    }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Identity" });

const changeReason = boundedText(1, 1000).meta({
  description: "shown to your organization; only a salted hash of it is signed and logged",
});
export const freezeBody = z.strictObject({ reason: changeReason }).meta({ id: "FreezeAgent" });
export const unfreezeBody = z.strictObject({ reason: changeReason.nullish() }).meta({ id: "UnfreezeAgent" });

export const keyHistoryResponse = z
  .strictObject({
    slug: z.string(),
    keys: z.array(keyHistoryEntry).meta({ description: "newest first" }),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "KeyHistory" });

export const feedEntry = z.strictObject({
  attestation_id: z.uuid(),
  id: z.uuid(),
  action: z.string().nullable(),
  amount: amount.nullable().meta({ description: "in the approval that backs it; null without one" }),
  tool: z.string().nullable(),
  decided: z
    .string()
    .nullable()
    .meta({ description: "who decided, in words for people; they may change. Names only for the owner" }),
  inputs_hash: z.string().nullable(),
  timestamp: timestamp.nullable(),
  payload_hash: z.string(),
  has_zk_proof: z.boolean(),
  agent_authenticated: verdict,
  code_hash_verified: verdict,
  tools_authorized: verdict,
  client_gap: clientGap,
  human_approved: z.boolean().nullable(),
  human_approval_method: z.string().nullable(),
  human_approval_environment: z.string().nullable(),
  warnings,
  public_url: z.url(),
});

export const feedQuery = cursorQuery.extend({ warnings: warningsFilter });

export const maxLookAlikes = 10;

export const feedResponse = z
  .strictObject({
    slug: z.string(),
    name: z.string().nullable(),
    description: z.string().nullable(),
    total_attestations: z.number().int(),
    created_at: timestamp,
    public_key: base64Text.nullable(),
    look_alikes: z.array(z.string()).max(maxLookAlikes).meta({
      description: "slugs of other agents that look like this one, the oldest first",
    }),
    identity: identityResponse,
    attestations: z.array(feedEntry),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "AgentFeed" });

export const jsonFeed = anyObject.meta({
  description: "a JSON Feed 1.1 (jsonfeed.org) of the same attestations, without a cursor",
});

export type FeedResponse = z.infer<typeof feedResponse>;
export type IdentityResponse = z.infer<typeof identityResponse>;
export type KeyHistoryEntry = z.infer<typeof keyHistoryEntry>;
export type KeyHistoryResponse = z.infer<typeof keyHistoryResponse>;
export type FeedEntry = z.infer<typeof feedEntry>;

/** Limit of an answer; the same inputs may be in many reports. */
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
