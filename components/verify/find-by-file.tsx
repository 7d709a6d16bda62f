"use client";
/** Finds the public reports about a file by its hash. The hash is sent, the file is not. */
import { AgentText } from "#components/agent-text";
import type { SearchResponse } from "#lib/api/schemas/identity";
import { FileDrop } from "./file-drop";
import { SearchResults } from "./search-results";

async function search(hex: string): Promise<SearchResponse> {
  const response = await fetch(`/v1/search?q=${hex}`, { headers: { Accept: "application/json" } });
  if (response.status === 429) throw new Error("Too many requests from your address; wait a minute.");
  if (!response.ok) throw new Error(`The search answered ${response.status}.`);
  return (await response.json()) as SearchResponse;
}

async function describe({ name }: File, hex: string) {
  const found = await search(hex);
  const isNone = found.results.length === 0;
  return (
    <>
      <p className="mb-3 [overflow-wrap:anywhere]">
        {isNone ? "No public report names the hash of" : "These reports name the hash of"} “
        <AgentText value={name} isName hideWarnings />
        ”: <code className="font-mono text-[13px]">sha256:{hex}</code>
      </p>
      {isNone ? null : <SearchResults found={found} />}
    </>
  );
}

export function FindByFile() {
  return (
    <>
      <FileDrop id="any-file" label="Choose any file, or drop it here" describe={describe} />
      <noscript>
        <p className="mt-2 text-muted text-sm">
          Without JavaScript, run sha256sum over the file and enter the result above.
        </p>
      </noscript>
    </>
  );
}
