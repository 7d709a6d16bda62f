"use client";
/** "Download as PDF": made in a worker of this browser, so nothing is sent and the page stays usable. */
import { type ReactNode, useState } from "react";
import { Button } from "#components/ui/button";
import { useIsReady } from "#components/ui/use-is-ready";
import type { PdfDocument } from "./pdf-document";
import type { PdfAnswer } from "./pdf-worker";

export function saveFile(name: string, type: string, content: string | Uint8Array): void {
  const url = URL.createObjectURL(new Blob([content as BlobPart], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

function renderInWorker(document: PdfDocument): Promise<Uint8Array> {
  const worker = new Worker(new URL("./pdf-worker.tsx", import.meta.url), { type: "module" });
  return new Promise<Uint8Array>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PdfAnswer>) =>
      "bytes" in data ? resolve(data.bytes) : reject(new Error(data.problem));
    worker.onerror = () => reject(new Error("it couldn't be loaded"));
    worker.postMessage(document);
  }).finally(() => worker.terminate());
}

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
      const bytes = await renderInWorker(typeof describe === "function" ? describe() : describe);
      saveFile(fileName, "application/pdf", bytes);
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
