"use client";
import { type ReactNode, Suspense, useEffect, useState } from "react";
/** Opens a search: a button, and Ctrl+K or ⌘K. */
import { MagnifyingGlassIcon } from "#components/ui/icons";
import { buttonClass } from "./button-style";
import { useIsReady } from "./use-is-ready";

interface SearchButtonProps {
  /** Leaves room for other buttons of the same line. */
  readonly isIconOnPhones?: boolean;
  /** The dialog, made when it is first opened. */
  readonly children: (isOpen: boolean, onOpenChange: (open: boolean) => void) => ReactNode;
}

export function SearchButton({ children, isIconOnPhones = false }: SearchButtonProps) {
  const isReady = useIsReady();
  const [isLoaded, setLoaded] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const show = (open: boolean) => {
    setLoaded(true);
    setOpen(open);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isShortcut = (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey;
      if (!isShortcut || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      setLoaded(true);
      setOpen(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
        disabled={!isReady}
        onClick={() => show(true)}
        className={buttonClass("secondary", "small")}
      >
        <MagnifyingGlassIcon aria-hidden="true" className="size-4" />
        <span className={isIconOnPhones ? "max-sm:sr-only" : undefined}>Find…</span>
        <span aria-hidden="true" className="font-normal text-muted max-sm:hidden">
          Ctrl K
        </span>
      </button>
      {isLoaded ? <Suspense fallback={null}>{children(isOpen, show)}</Suspense> : null}
    </>
  );
}
