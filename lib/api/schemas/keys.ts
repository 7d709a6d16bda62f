/** API keys by email, and the service's own public keys (docs/wire.md, API keys and Service). */
import { z } from "zod";
import { scopeNames, visibilities } from "./key-choices";
import { anyObject, base64Text, boundedText, timestamp } from "./primitives";

/** The domain in the letters of DNS, as a browser's form sends it: `müller.example` is `xn--mller-kva.example`. */
function spellAddress(address: string): string {
  const at = address.lastIndexOf("@") + 1;
  const domain = address.slice(at);
  const isForeign = /[^\0-\x7f]/.test(domain) && !/[\s/?#:@\\%[\]]/.test(domain);
  const url = isForeign ? `http://${domain}` : "";
  return `${address.slice(0, at)}${URL.canParse(url) ? new URL(url).hostname : domain}`.toLowerCase();
}

/** An address as HTML accepts it (WHATWG, valid email address). */
export const emailAddress = z
  .string("must be an email address")
  .overwrite(spellAddress)
  .regex(z.regexes.html5Email, "must be an email address")
  .max(254, "must be at most 254 characters")
  .meta({ format: "email" });

export const keyRequestBody = z
  .strictObject({ email: emailAddress, name: boundedText(1, 100).nullish() })
  .meta({ id: "KeyRequest" });
export const keyRequestResponse = z.strictObject({ message: z.string(), expires_in: z.literal(600) });

export const keyVerifyBody = z
  .strictObject({
    email: emailAddress,
    code: z.string("must be a string").regex(/^[0-9]{6}$/, "must be 6 digits"),
  })
  .meta({ id: "KeyVerification" });
export const keyVerifyResponse = z.strictObject({
  api_key: z.string(),
  key_id: z.uuid(),
  name: z.string(),
  email: z.string(),
  created_at: timestamp,
  default_visibility: z.enum(visibilities).meta({
    description: "of what the key attests, if a request doesn't set is_public; an owner can change it",
  }),
});

export const keyInfoResponse = z
  .strictObject({
    key_id: z.uuid(),
    name: z.string(),
    email: z.string(),
    prefix: z.string(),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    scopes: z.array(z.enum(scopeNames)),
    attestations_today: z.number().int(),
    rate_limit: z.strictObject({
      per_minute: z.number().int(),
      per_day: z.number().int().meta({
        format: "int64",
        description: "9007199254740991: no daily limit",
      }),
    }),
  })
  .meta({ id: "KeyInfo" });

export const keyDeleteResponse = z.strictObject({ message: z.string(), key_id: z.uuid() });

const publicKey = z.strictObject({
  key_id: z.string(),
  dsse_keyid: z.string().meta({ description: "`keyid` of the signatures of this key in DSSE envelopes" }),
  public_key: base64Text,
  public_key_pem: z.string(),
  status: z.enum(["active", "retired", "revoked"]),
  log_origin: z.string().meta({ description: "the log that the indexes refer to" }),
  valid_from_index: z.number().int(),
  valid_to_index: z.number().int().nullable(),
  created_at: timestamp,
  retired_at: timestamp.nullable(),
});

const postQuantumKey = z.string().nullable().meta({
  description:
    "verifier key of the log's second signature on checkpoints, by ML-DSA-44 (C2SP tlog-cosignature, type 6); null before the first",
});

const witnessMembers = z.array(
  z.strictObject({
    name: z.string(),
    vkey: z.string(),
    url: z.url(),
    cosigned_size: z.number().int().nullable(),
    cosigned_at: timestamp.nullable(),
  }),
);

const publicLog = z.strictObject({
  origin: z.string(),
  vkey: z.string(),
  post_quantum_vkey: postQuantumKey,
  url: z.url(),
  size: z.number().int(),
  closed_at: timestamp.nullable(),
  opened_by: z
    .strictObject({
      payload: z.string(),
      signature: base64Text,
      envelope_signature: base64Text,
      key_id: z.string(),
    })
    .nullable()
    .meta({
      description: "the signed statement in leaf 0 that names the previous log; null for the first log",
    }),
});

export const pubkeyResponse = z
  .strictObject({
    key_id: z.string(),
    algorithm: z.literal("Ed25519"),
    public_key: base64Text,
    public_key_pem: z.string(),
    created_at: timestamp,
    usage: z.string(),
    keys: z.array(publicKey),
    log: z.strictObject({
      origin: z.string(),
      vkey: z.string(),
      post_quantum_vkey: postQuantumKey,
      url: z.url().meta({ description: "the prefix of checkpoint and tiles (C2SP tlog-tiles)" }),
      time_authorities: z.array(z.string()).meta({
        description:
          "PEM certificates that the log's time stamps (RFC 3161) lead to; empty if none are asked for",
      }),
      witnesses: z
        .strictObject({
          threshold: z.number().int().meta({ description: "the least number of members that must cosign" }),
          policy: z.string().meta({ description: "who must cosign (C2SP tlog-policy)" }),
          members: witnessMembers,
          post_quantum_members: witnessMembers.meta({
            description: "those whose keys are of ML-DSA-44 (C2SP tlog-cosignature, type 6)",
          }),
        })
        .nullable(),
    }),
    logs: z.array(publicLog).meta({ description: "this log and previous ones, oldest first" }),
    zk: z.strictObject({
      ciphersuite: z.string(),
      schema: z.string(),
      kid: z.string(),
      public_key: z.string(),
      keys: z.array(
        z.strictObject({
          kid: z.string(),
          public_key: z.string(),
          status: z.enum(["active", "retired", "revoked"]),
          endorsement: anyObject,
        }),
      ),
    }),
    key_events: z.array(
      z.strictObject({
        log_origin: z.string(),
        index: z.number().int(),
        payload: z.string(),
        signature: base64Text,
        envelope_signature: base64Text,
        key_id: z.string(),
      }),
    ),
  })
  .meta({ id: "PublicKeys" });
