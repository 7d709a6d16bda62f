/** One page of an agent's key history. */
import { AgentText } from "#components/agent-text";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { TextLink } from "#components/ui/text-link";
import type { KeyHistoryResponse } from "#lib/api/schemas/identity";
import { KeyHistory } from "./agent-profile";

interface AgentKeysViewProps {
  readonly history: KeyHistoryResponse;
  readonly isFirstPage: boolean;
}

export function AgentKeysView({ history, isFirstPage }: AgentKeysViewProps) {
  const { slug, keys, next_cursor: cursor } = history;
  const path = `/agent/${slug}/keys`;
  return (
    <div className="mx-auto max-w-3xl px-4 pt-8 sm:px-6 sm:pt-12">
      <p className="text-muted text-sm">
        <TextLink href={`/agent/${slug}`}>
          <AgentText value={slug} isName hideWarnings />
        </TextLink>
      </p>
      <h1 className="mt-1 mb-3 font-semibold text-3xl sm:text-4xl">Key history</h1>
      <p className="mb-6 max-w-[68ch] text-muted">
        All keys ever registered for this agent, newest first. Each attestation is checked against the key
        registered when it was created.
      </p>
      <KeyHistory history={keys} />
      <CursorPagination
        label="keys"
        {...(isFirstPage ? {} : { firstHref: path })}
        {...(cursor === null ? {} : { nextHref: `${path}?cursor=${cursor}` })}
      />
    </div>
  );
}
