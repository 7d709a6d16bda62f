"use client";
/** "Download as PDF": made in a worker of this browser, so nothing is sent and the page stays usable. */
import { type ReactNode, useState } from "react";
import { Button } from "#components/ui/button";
import { useIsReady } from "#components/ui/use-is-ready";
import type { PdfDocument } from "./pdf-document";

interface PdfButtonProps {
  readonly fileName: string;
  /** The content, or what makes it when it is wanted. */
  readonly describe: PdfDocument | (() => PdfDocument);
  readonly children: ReactNode;
}

export function PdfButton({ fileName, describe, children }: PdfButtonProps) {
  const [state, setState] = useState<"idle" | "making" | "failed">("idle");
  const isReady = useIsReady();
  async function make(): Promise<void> {
    setState("making");
    try {
      const { savePdf } = await import("./save-pdf");
      await savePdf(fileName, typeof describe === "function" ? describe() : describe);
      setState("idle");
    } catch {
      setState("failed");
    }
  }
  return (
    <span className="inline-flex flex-wrap items-center gap-3">
      <Button variant="secondary" disabled={!isReady || state === "making"} onClick={() => void make()}>
        {state === "making" ? "Making the PDF …" : children}
      </Button>
      {state === "failed" ? (
        <span role="alert" className="text-fail text-sm">
          The PDF couldn't be made. Try printing the page.
        </span>
      ) : null}
    </span>
  );
}
