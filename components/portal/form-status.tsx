/** The result of a form: empty at first, and announced when it changes. */

import { Callout } from "#components/ui/callout";
import type { FormState } from "#lib/contract/portal";

export function FormStatus({ state }: { readonly state: FormState<unknown> }) {
  return (
    <div aria-live="polite" className={state.status === "idle" ? "sr-only" : ""}>
      {state.status === "idle" ? null : (
        <Callout tone={state.status === "done" ? "pass" : "fail"} title={state.message} />
      )}
    </div>
  );
}
