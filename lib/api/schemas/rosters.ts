/** The rosters of an organization: who may approve, and every change of it. */
import { z } from "zod";
import { base64Text, boundedText, hexHash, timestamp } from "./primitives";

export const readRosterQuery = z.strictObject({
  number: z.coerce
    .number("must be a whole number from 1")
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .meta({ description: "another roster than the newest" }),
});

const base64Url = z.string().regex(/^[A-Za-z0-9_-]+$/);

const head = z.strictObject({
  organization: z.uuid(),
  number: z.number().int(),
  previous: hexHash.nullable(),
  size: z.number().int(),
  root: hexHash,
  changed_at: timestamp,
});

const entry = z.strictObject({
  approver_id: z.uuid(),
  credential_id: base64Url,
  public_key: base64Url,
  groups: z.array(hexHash),
  since: timestamp,
  salt: base64Text,
  deputy_for: z
    .strictObject({ approver_id: z.uuid(), from: timestamp, until: timestamp })
    .optional()
    .meta({ description: "an entry of its own: in whose place the person decides, and from when to when" }),
});

const person = boundedText(0, 254);
const mapped = z
  .array(z.strictObject({ group: z.string(), provider_group: z.string(), mapped_by: z.string() }))
  .optional()
  .meta({ description: "which of the groups a group of your provider or directory gave, and who mapped it" });
const change = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("passkey_added"),
    person,
    passkey: z.string(),
    groups: z.array(z.string()),
    mapped,
  }),
  z.strictObject({ kind: z.literal("passkey_removed"), person, passkey: z.string() }),
  z.strictObject({ kind: z.enum(["joined", "left"]), person, group: z.string(), mapped }),
  z.strictObject({
    kind: z.literal("deputy_named"),
    person,
    deputy: person,
    from: timestamp,
    until: timestamp,
  }),
  z.strictObject({ kind: z.literal("deputy_ended"), person, deputy: person }),
]);

export const rosterResponse = z
  .strictObject({
    organization: z.uuid(),
    roster: z
      .strictObject({
        head,
        hash: hexHash,
        entries: z.array(entry),
        changes: z.array(change).meta({ description: "since the roster before, with your names" }),
        log_index: z.number().int(),
      })
      .nullable()
      .meta({ description: "null if there is none" }),
  })
  .meta({ id: "Roster" });
export type RosterResponse = z.infer<typeof rosterResponse>;

/* Enrolling passkeys: what the browser sends, and what it gets. */

export const passkeyName = boundedText(1, 64);

const bytes = (max: number) => z.string().max(max);

/** `RegistrationResponseJSON`; what is inside is verified, not read. */
export const registrationResponse = z.object({
  id: bytes(1_400),
  rawId: bytes(1_400),
  type: z.literal("public-key"),
  clientExtensionResults: z.object({}).catch({}),
  response: z.object({
    clientDataJSON: bytes(8_192),
    attestationObject: bytes(65_536),
    transports: z.array(z.string().max(32)).max(16).default([]),
  }),
});

/** `AuthenticationResponseJSON`, likewise. */
export const authenticationResponse = z.object({
  id: bytes(1_400),
  rawId: bytes(1_400),
  type: z.literal("public-key"),
  clientExtensionResults: z.object({}).catch({}),
  response: z.object({
    clientDataJSON: bytes(8_192),
    authenticatorData: bytes(8_192),
    signature: bytes(8_192),
  }),
});

export type PasskeyAnswer<Value = null> = { ok: true; value: Value } | { ok: false; message: string };

export interface ShownPasskey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
}
