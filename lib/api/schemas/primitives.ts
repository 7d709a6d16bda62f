/** The small types of the wire, each said once. Messages are what callers read behind the field's name. */
import { z } from "zod";
import {
  canonicalBytes,
  isJsonObject,
  type JsonObject,
  measureDepth,
} from "#lib/protocol/encoding/canonical-json";

/** U+0000 is in no column of PostgreSQL. */
const hasNoNul = (text: string) => !text.includes("\0");
/** The same as JSON Schema says it. */
export const noNulPattern = "^[^\\u0000]*$";

export function boundedText(min: number, max: number) {
  const message = `must be ${min}-${max} characters`;
  return z
    .string("must be a string")
    .refine((text) => {
      const { length } = [...text];
      return length >= min && length <= max;
    }, message)
    .refine(hasNoNul, "must not contain U+0000")
    .meta({ minLength: min, maxLength: max, pattern: noNulPattern });
}

export function boundedAscii(max: number) {
  return z
    .string("must be a string")
    .regex(new RegExp(`^[\\x20-\\x7e]{1,${max}}$`), `must be 1-${max} printable ASCII characters`);
}

export const agentSlug = z
  .string("must be a string")
  .min(1, "must be 1-64 characters")
  .max(64, "must be 1-64 characters")
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "must begin with a letter or digit and hold only A-Z a-z 0-9 . _ -")
  .meta({ examples: ["invoice-bot"] });

export const action = boundedText(1, 1000);
export const approverName = boundedText(1, 64);
export const inputsHash = boundedAscii(128);
export const hexHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ description: "hex SHA-256" });
export const base64Text = z.string().meta({ description: "standard base64" });
/** The last digit carries two bits of the signature: only its canonical spelling is one. */
export const signatureText = z
  .string("must be a string")
  .regex(/^[A-Za-z0-9+/]{85}[AQgw]==$/, "must be the base64 of a 64-byte Ed25519 signature");
/** Accepts times that both RFC 3339 and PostgreSQL can write: in the years 1 to 9999 of UTC. */
export function isCalendarTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

export const timestamp = z.string().meta({ format: "date-time", examples: ["2026-11-21T03:04:05.678Z"] });
export const clientGap = z.boolean().nullable().meta({
  description: "true if `client.sequence` is not the next number of its instance; null without `client`",
});
export const verdict = z.boolean().nullable().meta({ description: "null if there was nothing to compare" });

/** Objects as callers send them: no U+0000 in any name or string, at any depth. */
const sentObjectSchema = {
  type: "object",
  propertyNames: { pattern: noNulPattern },
  additionalProperties: { $ref: "#/components/schemas/JsonValue" },
} as const;

/**
 * Component of the OpenAPI document that {@link sentObjectSchema} refers to. Generators of clients can't read a schema
 * that refers to itself.
 */
export const jsonValueSchema = {
  description: "any JSON value, without U+0000 in its names and strings",
} as const;

export const metadata = z
  .custom<JsonObject>(isJsonObject, "must be an object")
  .refine((value) => measureDepth(value) <= 16, "must be at most 16 levels deep")
  .refine((value) => canonicalBytes(value).length <= 8192, "must be at most 8 KiB as canonical JSON")
  .meta({ ...sentObjectSchema, description: "at most 8 KiB as RFC 8785 JSON and 16 levels deep" });

export const sentObject = z.custom<JsonObject>(isJsonObject, "must be an object").meta(sentObjectSchema);

export const anyObject = z
  .custom<JsonObject>(isJsonObject, "must be an object")
  .meta({ type: "object", additionalProperties: true });

export const cursorQuery = z.strictObject({
  limit: z.coerce
    .number("must be a number")
    .int("must be a whole number")
    .min(1, "must be 1-100")
    .max(100, "must be 1-100")
    .default(20),
  cursor: z.string().max(200).optional(),
});

/** A page of things that are numbered from 1: full pages never change. */
export const numberedPage = (fromDescription: string) => {
  const wholeNumber = (max: number) =>
    z.coerce.number(`must be a whole number from 1 to ${max}`).int().min(1).max(max);
  return z.strictObject({
    from: wholeNumber(Number.MAX_SAFE_INTEGER).default(1).meta({ description: fromDescription }),
    limit: wholeNumber(1000).default(1000),
  });
};

/* RFC 9457 problem documents (docs/wire.md, Errors). */

export const problem = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    error: z.string(),
    code: z.string(),
    request_id: z.string(),
    errors: z.array(z.strictObject({ pointer: z.string(), message: z.string() })).optional(),
    retry_after: z.number().int().optional(),
  })
  .meta({ id: "Problem" });

export type Problem = z.infer<typeof problem>;
