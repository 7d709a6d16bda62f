/** The state that a form's action hands back to its page. Forms in the browser have this, and not what is checked on the server. */

/** The field that every form of the portal carries: the organization whose page it is on. */
export const shownOrganizationField = "shown_organization";

/** Submitted values, returned with a rejection so that nothing has to be typed again. */
export type FormValues = Record<string, string | string[]>;

export interface FormState<Result> {
  status: "idle" | "done" | "failed";
  message: string;
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

export function readForm(form: FormData): FormValues {
  const values: FormValues = {};
  for (const name of new Set(form.keys())) {
    if (name.startsWith("$ACTION") || name === shownOrganizationField) continue;
    const texts = form.getAll(name).filter((value) => typeof value === "string");
    values[name] = texts.length === 1 ? (texts[0] ?? "") : texts;
  }
  return values;
}

export type FormAction<Result = null> = (
  state: FormState<Result>,
  form: FormData,
) => Promise<FormState<Result>>;

export const switchedOrganization =
  "You switched to another organization in another tab, so nothing was done. Reload this page, then try again.";
