"use client";
/** The portal's search: a button, and Ctrl+K or ⌘K. The dialog is loaded when it is first opened. */
import { Search } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { buttonClass } from "#components/ui/button-style";
import { useIsReady } from "#components/ui/use-is-ready";

const SearchDialog = lazy(async () => ({ default: (await import("./search-dialog")).SearchDialog }));

export function PortalSearch({ organizationId }: { readonly organizationId: string }) {
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
        <Search aria-hidden="true" className="size-4" />
        Find…
        <span aria-hidden="true" className="font-normal text-muted max-sm:hidden">
          Ctrl K
        </span>
      </button>
      {isLoaded ? (
        <Suspense fallback={null}>
          <SearchDialog organizationId={organizationId} isOpen={isOpen} onOpenChange={show} />
        </Suspense>
      ) : null}
    </>
  );
}
