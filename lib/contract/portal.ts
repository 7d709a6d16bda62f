/** The forms of the portal: what each may hold, and the state that its action hands back to the page. */
import { z } from "zod";
import { authorizationRequestIdPattern } from "#lib/core/encoding/ids";
import { markColors, markPattern } from "#lib/core/text/organization-logo";
import { keyRequestBody } from "./keys";
import { scopeNames, textOf } from "./primitives";

/** The field that every form of the portal carries: the organization whose page it is on. */
export const shownOrganizationField = "shown_organization";

/** What was typed, given back with a refusal so that nothing has to be typed again. */
export type FormValues = Record<string, string | string[]>;

export interface FormState<Result> {
  status: "idle" | "done" | "failed";
  message: string;
  /** By field name. */
  errors: Record<string, string>;
  values: FormValues;
  result: Result | null;
}

export const idleState: FormState<never> = {
  status: "idle",
  message: "",
  errors: {},
  values: {},
  result: null,
};

export function failedState(
  message: string,
  errors: Record<string, string>,
  values: FormValues,
): FormState<never> {
  return { status: "failed", message, errors, values, result: null };
}

/** One text for each field; several under one name (checkboxes) as an array. */
export function readForm(form: FormData): FormValues {
  const values: FormValues = {};
  for (const name of new Set(form.keys())) {
    if (name.startsWith("$ACTION") || name === shownOrganizationField) continue;
    const texts = form.getAll(name).filter((value) => typeof value === "string");
    values[name] = texts.length === 1 ? (texts[0] ?? "") : texts;
  }
  return values;
}

/** What one form hands to `useActionState`. */
export type FormAction<Result = null> = (
  state: FormState<Result>,
  form: FormData,
) => Promise<FormState<Result>>;

export const switchedOrganization =
  "You switched to another organization in another tab, so nothing was done. Reload this page, then try again.";

const email = keyRequestBody.shape.email;
const id = z.uuid("must be an id");
const checked = z.literal("on").optional();
/** A field left empty is a field left out. */
const emptyAsAbsent = (value: unknown) => (value === "" ? undefined : value);
const role = z.enum(["owner", "member"], "must be owner or member");

/** A button alone. */
export const stepForm = z.object({});

export const signInForm = z.object({ email, next: z.string().max(200).optional() });
/** What a mailed link holds; anything else was never mailed. */
export const signInLink = z.object({ token: z.string().min(1).max(200), email });

/** Days until a key expires; absent: it does not. */
export const keyLifetimesDays = ["7", "30", "90", "365"] as const;
/** Hours for which a rotated key still works. */
export const overlapHours = ["0", "1", "24", "168"] as const;

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
    z.array(z.enum(scopeNames, "is not a scope")).min(1, "choose at least one scope"),
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
  default_public: z.enum(["public", "private"]),
  mark_text: z.preprocess(
    emptyAsAbsent,
    z.string().regex(markPattern, "must be one or two letters or digits").optional(),
  ),
  mark_color: z.preprocess(emptyAsAbsent, z.enum(markColors, "must be one of the choices").optional()),
});
export const organizationNameForm = z.object({ name: textOf(1, 100) });
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
