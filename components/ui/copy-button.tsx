"use client";
import { useEffect, useState } from "react";
/**
 * Copies a string. Invisible until JavaScript runs, its place kept so that nothing moves: the text beside it can
 * always be selected.
 */
import { CheckIcon, ClipboardDocumentIcon } from "#components/ui/icons";

interface CopyButtonProps {
  readonly text: string;
  /** Name of the copied text for screen readers: "payload hash". */
  readonly label: string;
  /** Shows the word beside the icon. */
  readonly withText?: boolean;
}

const confirmationMs = 2_000;

export function CopyButton({ text, label, withText = false }: CopyButtonProps) {
  const [ready, setReady] = useState(false);
  const [outcome, setOutcome] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => setReady(navigator.clipboard !== undefined), []);
  useEffect(() => {
    if (outcome === "idle") return;
    const timer = setTimeout(() => setOutcome("idle"), confirmationMs);
    return () => clearTimeout(timer);
  }, [outcome]);

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome("copied");
    } catch {
      setOutcome("failed");
    }
  }

  const words = { idle: "Copy", copied: "Copied", failed: "Not allowed" }[outcome];
  const Icon = outcome === "copied" ? CheckIcon : ClipboardDocumentIcon;
  return (
    <>
      <button
        type="button"
        onClick={() => void copy()}
        aria-label={`Copy ${label}`}
        title={`Copy ${label}`}
        className={`no-print wide-touch inline-flex min-h-8 min-w-8 shrink-0 items-center justify-center gap-1.5 rounded-md px-1.5 text-[13px] text-muted hover:bg-sunken hover:text-ink ${ready ? "" : "invisible"}`}
      >
        <Icon aria-hidden="true" className="size-4" />
        {withText || outcome !== "idle" ? <span aria-hidden="true">{words}</span> : null}
      </button>
      {/* Beside the button: what is in one is part of its name to some readers, and isn't announced. */}
      <span role="status" className="sr-only">
        {outcome === "idle" ? "" : words}
      </span>
    </>
  );
}
