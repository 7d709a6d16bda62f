"use client";
/**
 * The state of a form. An answer that doesn't come leaves the page as it is, with what was typed, and says so beside
 * the button; Next would exchange the page for its error page.
 */
import {
  unstable_isUnrecognizedActionError as isUnrecognized,
  unstable_rethrow as rethrow,
} from "next/navigation";
// biome-ignore lint/style/noRestrictedImports: the one place
import { useActionState, useEffect, useState } from "react";
import { useRefresh } from "#components/ui/router";
import { type FormAction, failedState, idleState, readForm } from "#lib/api/schemas/form-state";

const againMs = 3_000;

/** A server that answers without a result may have done what was asked. */
function explain(error: unknown): string {
  if (isUnrecognized(error))
    return "Nothing was done: this page is from an earlier version. Reload it and try again.";
  const what = error instanceof TypeError ? "We lost the connection" : "The service gave no clear answer";
  return `${what} and don't know whether this went through. Reload to see.`;
}

export function useFormAction<Result>(action: FormAction<Result>) {
  const refresh = useRefresh();
  const [isLost, setIsLost] = useState(false);
  const guarded: FormAction<Result> = async (state, form) => {
    setIsLost(false);
    try {
      return await action(state, form);
    } catch (error) {
      // A redirect of the action is no failure.
      rethrow(error);
      setIsLost(true);
      return failedState(explain(error), {}, readForm(form));
    }
  };
  // Shows the result of the action once the server is back.
  useEffect(() => {
    if (!isLost) return;
    const timer = setInterval(() => void refresh().then((isFresh) => isFresh && setIsLost(false)), againMs);
    return () => clearInterval(timer);
  }, [isLost, refresh]);
  // A form that is posted without JavaScript needs the action itself.
  return useActionState(typeof window === "undefined" ? action : guarded, idleState);
}
