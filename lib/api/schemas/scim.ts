/**
 * SCIM 2.0 (RFC 7643, RFC 7644): the attributes that are kept of people and groups, and what is sent about them. Other
 * attributes are ignored: directories send many.
 */
import { z } from "zod";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { boundedText, sentObject } from "./primitives";

export interface ScimAttribute {
  name: string;
  type: "string" | "boolean" | "complex" | "reference";
  multiValued: boolean;
  description: string;
  required: boolean;
  caseExact: boolean;
  mutability: "readWrite" | "readOnly" | "immutable";
  returned: "default";
  uniqueness: "none" | "server";
  referenceTypes?: readonly string[];
  subAttributes?: ScimAttribute[];
}

const attribute = (name: string, description: string, more: Partial<ScimAttribute> = {}): ScimAttribute => ({
  name,
  type: "string",
  multiValued: false,
  description,
  required: false,
  caseExact: false,
  mutability: "readWrite",
  returned: "default",
  uniqueness: "none",
  ...more,
});
const readOnly = { mutability: "readOnly" } as const;
const reference = (to: string) => ({ type: "reference", referenceTypes: [to], caseExact: true }) as const;

/** Common attributes (RFC 7643, section 3.1), which the documents of schemas leave out. */
export const commonAttributes = [
  attribute("id", "Identifier here", { ...readOnly, caseExact: true }),
  attribute("externalId", "Identifier in the directory", { caseExact: true }),
];

const userAttributes = [
  attribute("userName", "Name by which the person signs in at the directory", {
    required: true,
    uniqueness: "server",
  }),
  attribute("name", "The person's name", {
    type: "complex",
    subAttributes: [
      attribute("formatted", "Whole name"),
      attribute("familyName", "Family name"),
      attribute("givenName", "Given name"),
    ],
  }),
  attribute("displayName", "Name as shown"),
  attribute("active", "False ends the person's access here at once; true if it isn't sent", {
    type: "boolean",
    required: true,
  }),
  attribute(
    "emails",
    "The primary one, else the first, names their account here; without any, a userName that is one",
    {
      type: "complex",
      multiValued: true,
      subAttributes: [
        attribute("value", "Address"),
        attribute("type", "work, home or other"),
        attribute("primary", "True for one at most", { type: "boolean" }),
      ],
    },
  ),
  attribute("groups", "Groups that the person is in", {
    type: "complex",
    multiValued: true,
    ...readOnly,
    subAttributes: [
      attribute("value", "Identifier of the group", readOnly),
      attribute("$ref", "Address of the group", { ...reference("Group"), ...readOnly }),
      attribute("display", "Name of the group", readOnly),
    ],
  }),
];

const groupAttributes = [
  attribute("displayName", "Name, which an owner maps to a role or a group of approvers", {
    required: true,
    uniqueness: "server",
  }),
  attribute("members", "People of the group", {
    type: "complex",
    multiValued: true,
    subAttributes: [
      attribute("value", "Identifier of the person", { mutability: "immutable", caseExact: true }),
      attribute("$ref", "Address of the person", { ...reference("User"), mutability: "immutable" }),
    ],
  }),
];

/** A schema of resources, and where they are. */
export const scimKinds = {
  User: {
    urn: "urn:ietf:params:scim:schemas:core:2.0:User",
    path: "/Users",
    description: "People of the directory",
    attributes: userAttributes,
  },
  Group: {
    urn: "urn:ietf:params:scim:schemas:core:2.0:Group",
    path: "/Groups",
    description: "Groups of the directory",
    attributes: groupAttributes,
  },
} as const;
export type ScimKind = keyof typeof scimKinds;

const patchUrn = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
export const listUrn = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** Entra ID sends texts. */
const boolean = z.preprocess(
  (value) =>
    typeof value === "string" ? ({ true: true, false: false }[value.toLowerCase()] ?? value) : value,
  z.boolean("must be true or false"),
);
const text = boundedText(1, 256);
/** Directories send empty texts for what isn't set. */
const optionalText = z.preprocess((value) => (value === "" ? undefined : value), text.optional());

const shapes = {
  User: z.object({
    externalId: optionalText,
    userName: text,
    name: z.object({ formatted: optionalText, familyName: optionalText, givenName: optionalText }).optional(),
    displayName: optionalText,
    active: boolean.default(true),
    emails: z
      .array(z.object({ value: text, type: optionalText, primary: boolean.optional() }))
      .max(20, "can be at most 20")
      .default([])
      .refine((all) => all.filter(({ primary }) => primary).length <= 1, "can have one primary address"),
  }),
  Group: z.object({
    externalId: optionalText,
    displayName: text,
    members: z
      .array(z.object({ value: z.uuid("must be the id of a person") }))
      .max(1_000, "can be at most 1000")
      .default([]),
  }),
};
export const scimShapes: { [Kind in ScimKind]: z.ZodType<ScimResource[Kind]> } = shapes;
export interface ScimResource {
  User: z.output<typeof shapes.User>;
  Group: z.output<typeof shapes.Group>;
}

/** Attributes are read by the schema of their kind, whatever their case (lib/services/directory/resource.ts). */
export const scimBody = sentObject;

const toLowerNames = (value: unknown) =>
  isJsonObject(value as never)
    ? Object.fromEntries(Object.entries(value as object).map(([name, of]) => [name.toLowerCase(), of]))
    : value;

export const scimPatchBody = z.preprocess(
  toLowerNames,
  z.object({
    schemas: z.array(z.string()).refine((all) => all.includes(patchUrn), `must have ${patchUrn}`),
    operations: z
      .array(
        z.preprocess(
          toLowerNames,
          z.object({
            op: z
              .string("must be a string")
              .toLowerCase()
              .pipe(z.enum(["add", "replace", "remove"], "must be add, replace or remove")),
            path: z.string("must be a string").max(1_000, "must be at most 1000 characters").optional(),
            value: z.unknown().optional(),
          }),
        ),
      )
      .min(1, "needs one at least")
      .max(1_000, "can be at most 1000"),
  }),
);
export type ScimOperation = z.output<typeof scimPatchBody>["operations"][number];

const names = z.preprocess(
  (value) => (typeof value === "string" ? value.split(",").map((name) => name.trim().toLowerCase()) : value),
  z.array(z.string().max(200)).max(50).optional(),
);
const wholeNumber = z.coerce.number("must be a whole number").int("must be a whole number");

/** Unknown ones are ignored, and so is the order: it isn't offered. */
export const scimPickQuery = z.object({ attributes: names, excludedAttributes: names });
export const maxScimResults = 200;
export const scimListQuery = scimPickQuery.extend({
  filter: z.string().max(1_000, "must be at most 1000 characters").optional(),
  startIndex: wholeNumber.default(1).transform((value) => Math.max(1, value)),
  count: wholeNumber.default(100).transform((value) => Math.min(maxScimResults, Math.max(0, value))),
});
export type ScimPick = z.output<typeof scimPickQuery>;
export type ScimListQuery = z.output<typeof scimListQuery>;
