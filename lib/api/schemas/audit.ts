/** The audit log as programs read it (docs/wire.md, Audit log). */
import { z } from "zod";
import { actorKinds } from "./portal";
import { anyObject, isCalendarTime, timestamp } from "./primitives";

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

export const auditEvent = z
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
