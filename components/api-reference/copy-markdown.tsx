"use client";
import { useEffect, useState } from "react";
import { Button } from "#components/ui/button";
/** Copies a page's Markdown, fetched when it is asked for. Without JavaScript the link beside it leads to the same text. */
import { CheckIcon, ClipboardDocumentIcon } from "#components/ui/icons";

const words = { idle: "Copy as Markdown", copied: "Copied", failed: "Not copied: open it instead" } as const;

async function fetchText(href: string): Promise<Blob> {
  const response = await fetch(href);
  if (!response.ok) throw new Error(`${response.status}`);
  return new Blob([await response.text()], { type: "text/plain" });
}

export function CopyMarkdown({ href }: { readonly href: string }) {
  const [outcome, setOutcome] = useState<keyof typeof words>("idle");
  const [isReady, setIsReady] = useState(false);
  useEffect(() => setIsReady(navigator.clipboard !== undefined), []);
  async function copy(): Promise<void> {
    try {
      // The promise goes in: some browsers allow writing only at the moment of the click.
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": fetchText(href) })]);
      setOutcome("copied");
    } catch {
      setOutcome("failed");
    }
  }
  const Icon = outcome === "copied" ? CheckIcon : ClipboardDocumentIcon;
  return (
    <>
      <Button variant="secondary" size="small" disabled={!isReady} onClick={() => void copy()}>
        <Icon aria-hidden="true" className="size-4" />
        {words[outcome]}
      </Button>
      <span role="status" className="sr-only">
        {outcome === "idle" ? "" : words[outcome]}
      </span>
    </>
  );
}
