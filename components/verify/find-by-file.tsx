"use client";
/** Finds the public reports about a file by its hash. The hash is sent, the file is not. */
import { useState } from "react";
import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import type { SearchResponse } from "#lib/api/schemas/identity";
import { hashFile } from "#lib/protocol/encoding/read-stream";
import { FileDrop } from "./file-drop";
import { SearchResults } from "./search-results";

type Outcome =
  | { readonly phase: "idle" }
  | { readonly phase: "hashing"; readonly share: number }
  | { readonly phase: "failed"; readonly reason: string }
  | { readonly phase: "done"; readonly name: string; readonly hex: string; readonly found: SearchResponse };

async function search(hex: string): Promise<SearchResponse> {
  const response = await fetch(`/v1/search?q=${hex}`, { headers: { Accept: "application/json" } });
  if (response.status === 429) throw new Error("too many requests from your address; wait a minute");
  if (!response.ok) throw new Error(`the search answered ${response.status}`);
  return (await response.json()) as SearchResponse;
}

function Result({ outcome }: { readonly outcome: Outcome }) {
  switch (outcome.phase) {
    case "idle":
      return null;
    case "hashing":
      return <p>Hashing: {Math.round(outcome.share * 100)}%</p>;
    case "failed":
      return (
        <Callout tone="warn" title="The search didn't work">
          {outcome.reason}
        </Callout>
      );
    case "done":
      return (
        <>
          <p className="mb-3 [overflow-wrap:anywhere]">
            {outcome.found.results.length === 0
              ? "No public report names the hash of"
              : "These reports name the hash of"}{" "}
            “<AgentText value={outcome.name} isName hideWarnings />
            ”: <code className="font-mono text-[13px]">sha256:{outcome.hex}</code>
          </p>
          {outcome.found.results.length === 0 ? null : <SearchResults found={outcome.found} />}
        </>
      );
  }
}

export function FindByFile() {
  const [outcome, setOutcome] = useState<Outcome>({ phase: "idle" });
  async function find(file: File): Promise<void> {
    setOutcome({ phase: "hashing", share: 0 });
    try {
      const hex = await hashFile(file, (share) => setOutcome({ phase: "hashing", share }));
      setOutcome({ phase: "done", name: file.name, hex, found: await search(hex) });
    } catch (error) {
      setOutcome({ phase: "failed", reason: error instanceof Error ? error.message : "try again" });
    }
  }
  return (
    <>
      <FileDrop id="any-file" label="Choose any file, or drop it here" onFile={(file) => void find(file)} />
      <noscript>
        <p className="mt-2 text-muted text-sm">
          Without JavaScript, run sha256sum over the file and enter the result above.
        </p>
      </noscript>
      <div role="status" className="mt-4" data-found={outcome.phase}>
        <Result outcome={outcome} />
      </div>
    </>
  );
}
