"use client";
/** Asks the portal's search a moment after the last keystroke; an older answer never replaces a newer one. */
import { useEffect, useState } from "react";
import { shownOrganizationField } from "#lib/api/schemas/form-state";
import type { SearchHit } from "#lib/api/schemas/portal";

const pauseMs = 150;
const shortest = 2;

export interface Found {
  readonly hits: readonly SearchHit[];
  /** Message if the search failed. */
  readonly problem: string | null;
}

const nothing: Found = { hits: [], problem: null };

async function ask(text: string, organizationId: string, signal: AbortSignal): Promise<Found> {
  const query = new URLSearchParams({ q: text, [shownOrganizationField]: organizationId });
  const answer = await fetch(`/portal/search?${query}`, { signal });
  if (answer.ok) return { hits: (await answer.json()) as SearchHit[], problem: null };
  return { hits: [], problem: answer.status < 500 ? await answer.text() : "The search failed. Try again." };
}

export function useSearchHits(text: string, organizationId: string): Found {
  const [found, setFound] = useState<Found>(nothing);
  useEffect(() => {
    if (text.length < shortest) {
      setFound(nothing);
      return;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      ask(text, organizationId, stop.signal).then(setFound, () => {
        if (!stop.signal.aborted) setFound({ hits: [], problem: "The search failed. Try again." });
      });
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, organizationId]);
  return found;
}
