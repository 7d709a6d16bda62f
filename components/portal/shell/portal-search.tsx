"use client";
/** The portal's search. The dialog is loaded when it is first opened. */
import { lazy } from "react";
import { SearchButton } from "#components/ui/search-button";

const PortalSearchDialog = lazy(async () => ({
  default: (await import("./search-dialog")).PortalSearchDialog,
}));

export function PortalSearch({ organizationId }: { readonly organizationId: string }) {
  return (
    <SearchButton isIconOnPhones>
      {(isOpen, onOpenChange) => (
        <PortalSearchDialog organizationId={organizationId} isOpen={isOpen} onOpenChange={onOpenChange} />
      )}
    </SearchButton>
  );
}
