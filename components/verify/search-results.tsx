/** Results of a search, each with the part that matches the text. */
import { AgentText } from "#components/agent-text";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { WarningPills } from "#components/warning-pills";
import type { SearchResponse, SearchResult } from "#lib/api/schemas/identity";

const matches: Record<SearchResult["matched"], string> = {
  attestation_id: "this is its id",
  payload_hash: "this is its payload hash",
  inputs_hash: "this is its inputs hash",
  request_id: "this is its approval request",
  log_index: "this is its place in the log",
};

export function SearchResults({ found }: { readonly found: SearchResponse }) {
  return (
    <>
      <ul className="divide-y divide-line rounded-lg border border-line bg-surface px-4 sm:px-5">
        {found.results.map((result) => (
          <li key={`${result.id} ${result.matched}`} className="py-3">
            <p className="font-medium">
              <TextLink href={new URL(result.public_url).pathname}>
                <AgentText value={result.action ?? "(cannot be read)"} isExcerpt />
              </TextLink>
            </p>
            <p className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-[15px] text-muted">
              <AgentText value={result.agent_slug} isName hideWarnings />
              {result.timestamp === null ? null : <Timestamp iso={result.timestamp} relative={false} />}
              <span>{matches[result.matched]}</span>
              <WarningPills warnings={result.warnings} />
            </p>
          </li>
        ))}
      </ul>
      {found.has_more ? (
        <p className="mt-3 text-muted text-sm">
          There are more. The newest {found.results.length} are shown.
        </p>
      ) : null}
    </>
  );
}
