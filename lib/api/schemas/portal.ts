/** The forms of the portal: what each may hold. */
import { z } from "zod";
import { authorizationRequestIdPattern } from "#lib/protocol/encoding/ids";
import { markColors, markPattern } from "#lib/protocol/text/organization-logo";
import { keyLifetimesDays, overlapHours, scopeNames, visibilities } from "./key-choices";
import { keyRequestBody } from "./keys";
import { textOf } from "./primitives";

const email = keyRequestBody.shape.email;
const id = z.uuid("must be an id");
const checked = z.literal("on").optional();
/** A field left empty is a field left out. */
const emptyAsAbsent = (value: unknown) => (value === "" ? undefined : value);
const role = z.enum(["owner", "member"], "must be owner or member");

/** A button alone. */
export const stepForm = z.object({});

export const signInForm = z.object({ email, next: z.string().max(200).optional() });
/** Parameters of a mailed link; anything else was never mailed. */
export const signInLink = z.object({ token: z.string().min(1).max(200), email });

/** Attestations per UTC day; absent: no limit of its own. */
const perDay = z.preprocess(
  emptyAsAbsent,
  z.coerce
    .number("must be a number")
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(10_000_000, "must be at most 10,000,000")
    .optional(),
);

export const createKeyForm = z.object({
  name: textOf(1, 100),
  scopes: z.preprocess(
    (value) => (value === undefined ? [] : [value].flat()),
    z
      .array(z.enum(scopeNames, "is not a scope"))
      .min(1, "choose at least one scope")
      .refine(
        (scopes) => scopes.length === 1 || !scopes.includes("hook"),
        "choose hook alone: with other permissions, a coding agent could do more than its hook needs",
      ),
  ),
  lifetime_days: z.preprocess(
    emptyAsAbsent,
    z.enum(keyLifetimesDays, "must be one of the choices").optional(),
  ),
  per_day: perDay,
});

export const keyForm = z.object({ key_id: id });
export const limitKeyForm = z.object({ key_id: id, per_day: perDay });
export const rotateKeyForm = z.object({
  key_id: id,
  overlap_hours: z.enum(overlapHours, "must be one of the choices"),
});

export const organizationForm = z.object({
  name: textOf(1, 100),
  default_public: z.enum(visibilities),
  mark_text: z.preprocess(
    emptyAsAbsent,
    z.string().regex(markPattern, "must be one or two letters or digits").optional(),
  ),
  mark_color: z.preprocess(emptyAsAbsent, z.enum(markColors, "must be one of the choices").optional()),
});
export const organizationNameForm = z.object({ name: textOf(1, 100), default_public: z.enum(visibilities) });
export const domainForm = z.object({ domain: textOf(1, 300) });
export const domainIdForm = z.object({ domain_id: id });
export const inviteForm = z.object({ email, role });
export const invitationIdForm = z.object({ invitation_id: id });
export const memberForm = z.object({ user_id: textOf(1, 100), revoke_keys: checked });
export const memberRoleForm = z.object({ user_id: textOf(1, 100), role });
export const deleteOrganizationForm = z.object({ confirmation: z.string().max(200) });
export const switchOrganizationForm = z.object({ organization_id: id });
export const authorizationForm = z.object({
  request_id: z.string().regex(authorizationRequestIdPattern, "must be a request's id"),
});
export const acceptInvitationForm = z.object({
  token: z.string().regex(/^[A-Za-z0-9_-]{43}$/, "must be a token"),
});
