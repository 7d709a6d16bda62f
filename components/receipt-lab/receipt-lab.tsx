"use client";
/** "Break this receipt": what it needs is fetched when the visitor asks for it, so that the page stays light. */
import { lazy, Suspense, useState } from "react";
import { Button } from "#components/ui/button";
import { useIsReady } from "#components/ui/use-is-ready";

const Workbench = lazy(async () => ({ default: (await import("./workbench")).Workbench }));

export function ReceiptLab() {
  const isReady = useIsReady();
  const [isOpen, setIsOpen] = useState(false);
  if (!isOpen)
    return (
      <>
        <Button disabled={!isReady} onClick={() => setIsOpen(true)}>
          Break a receipt
        </Button>
        <noscript>
          <p className="mt-3 text-muted">
            This runs the verifier in your browser and needs JavaScript. The offline verifier does the same
            with any file you change.
          </p>
        </noscript>
      </>
    );
  return (
    <Suspense fallback={<p className="text-muted">Loading the receipt and the verifier …</p>}>
      <Workbench />
    </Suspense>
  );
}
