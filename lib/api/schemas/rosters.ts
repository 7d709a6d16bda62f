/** The rosters of an organization: who may approve, and every change of it; and its audit log (docs/wire.md, Audit log). */
import { z } from "zod";
import { actorKinds } from "./portal";
import { anyObject, base64Text, boundedText, hexHash, isCalendarTime, timestamp } from "./primitives";

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

const time = (description: string) =>
  z.iso
    .datetime("must be an RFC 3339 time in UTC, such as 2026-11-21T03:04:05.678Z")
    .refine((text) => isCalendarTime(new Date(text)), "must be in the years 1 to 9999")
    .optional()
    .meta({ format: "date-time", description });

export const auditQuery = z.strictObject({
  limit: z.coerce
    .number("must be a number")
    .int("must be a whole number")
    .min(1, "must be 1-1000")
    .max(1000, "must be 1-1000")
    .default(100),
  cursor: z.string().max(200).optional(),
  actor_kind: z.enum(actorKinds, `must be ${actorKinds.join(", ")}`).optional(),
  action: z
    .string()
    .regex(/^[a-z_]+(?:\.[a-z_]+)?$/, "must be an action, such as member.removed, or its first word")
    .max(100)
    .optional(),
  from: time("the first time"),
  until: time("the time before which events are"),
});
export type AuditQuery = z.output<typeof auditQuery>;

const auditEvent = z
  .strictObject({
    event_id: z.uuid(),
    at: timestamp,
    actor_kind: z.enum(actorKinds),
    actor: z.string(),
    actor_name: z.string().nullable().meta({ description: "a key's or an approver's name; null for others" }),
    action: z.string(),
    subject: z.string(),
    subject_name: z.string().nullable(),
    detail: anyObject.nullable(),
    ip: z.string().nullable(),
    session: z.string().nullable(),
  })
  .meta({ id: "AuditEvent" });
export type AuditEventView = z.output<typeof auditEvent>;

export const auditResponse = z.strictObject({
  events: z.array(auditEvent),
  next_cursor: z.string().nullable(),
});
