"use client";
/** The documentation's search, over an index that is fetched when it is first opened. */
import { useEffect, useState } from "react";
import { SearchButton } from "#components/ui/search-button";
import { type Choices, SearchDialog } from "#components/ui/search-dialog";
import { type IndexEntry, searchIndex } from "./search-words";

type Loaded = { readonly entries: readonly IndexEntry[]; readonly problem: string | null };

async function load(): Promise<Loaded> {
  const response = await fetch("/docs/search-index.json");
  if (!response.ok) return { entries: [], problem: "The search couldn't be loaded. Try again." };
  return { entries: (await response.json()) as IndexEntry[], problem: null };
}

function DocsSearchDialog(props: {
  readonly isOpen: boolean;
  readonly onOpenChange: (open: boolean) => void;
}) {
  const [loaded, setLoaded] = useState<Loaded>({ entries: [], problem: null });
  useEffect(() => {
    load().then(setLoaded, () =>
      setLoaded({ entries: [], problem: "The search couldn't be loaded. Try again." }),
    );
  }, []);
  const [text, setText] = useState("");
  const found: Choices = { choices: searchIndex(loaded.entries, text), problem: loaded.problem };
  return (
    <SearchDialog
      label="Search guides, operations, errors and reasons"
      placeholder="A word, operation, error or reason"
      found={found}
      onType={setText}
      {...props}
    />
  );
}

export function DocsSearch() {
  return (
    <SearchButton>
      {(isOpen, onOpenChange) => <DocsSearchDialog isOpen={isOpen} onOpenChange={onOpenChange} />}
    </SearchButton>
  );
}
