/** Values that were typed into a rejected form. */
import type { FormState } from "#lib/api/schemas/form-state";

export function textValue(state: FormState<unknown>, name: string, otherwise = ""): string {
  const value = state.values[name];
  return typeof value === "string" ? value : otherwise;
}

/** Names of the check boxes that were on. */
export function listValue(state: FormState<unknown>, name: string, otherwise: readonly string[]): string[] {
  if (state.status !== "failed") return [...otherwise];
  return [state.values[name] ?? []].flat();
}
