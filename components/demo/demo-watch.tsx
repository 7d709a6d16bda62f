"use client";
/** Script of the demo's page: it notices the decision, and presses the button that follows it. */
import { useEffect, useRef } from "react";

const pauseMs = 2_000;

/** Waits for the decision and loads the page again. */
export function DemoWatch({ requestId }: { readonly requestId: string }) {
  useEffect(() => {
    const abort = new AbortController();
    const look = async () => {
      const response = await fetch(`/v1/authorize/${encodeURIComponent(requestId)}?wait=25`, {
        cache: "no-store",
        credentials: "omit",
        signal: abort.signal,
      });
      const { status } = (await response.json()) as { status?: unknown };
      return response.ok && status !== "pending";
    };
    const watch = async () => {
      while (!abort.signal.aborted) {
        if (await look().catch(() => false)) return location.reload();
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    void watch();
    return () => abort.abort();
  }, [requestId]);
  return null;
}

/** Submits the form that it is in, once. */
export function SubmitAtOnce() {
  const own = useRef<HTMLInputElement>(null);
  useEffect(() => own.current?.form?.requestSubmit(), []);
  return <input ref={own} type="hidden" />;
}
