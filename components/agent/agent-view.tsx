/** The public page of one agent. */
import { AgentText } from "#components/agent-text";
import { AmountOrder } from "#components/amount-column";
import { Callout } from "#components/ui/callout";
import { CursorPagination } from "#components/ui/cursor-pagination";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { Section } from "#components/verify/section";
import type { FeedResponse } from "#lib/api/schemas/identity";
import { AgentFacts, KeyHistory, ToolManifest } from "./agent-profile";
import { FeedFilterForm } from "./feed-filter";
import { FeedTable } from "./feed-table";
import { RecordPanel } from "./record-panel";

export interface AgentQuery {
  readonly approval: string | undefined;
  readonly action: string | undefined;
  readonly warnings: string | undefined;
  readonly cursor: string | undefined;
  /** "amount": the whole list in that order. */
  readonly sort: string | undefined;
}

function pageAddress(
  path: string,
  { approval, action, warnings, sort }: AgentQuery,
  cursor: string | null,
): string {
  const query = new URLSearchParams();
  if (approval !== undefined) query.set("approval", approval);
  if (action !== undefined) query.set("action", action);
  if (warnings !== undefined) query.set("warnings", warnings);
  if (cursor !== null) query.set("cursor", cursor);
  if (sort === "amount") query.set("sort", sort);
  return query.size === 0 ? path : `${path}?${query}`;
}

interface AgentViewProps {
  readonly agent: FeedResponse;
  readonly record: { readonly length: number; readonly unattested: number };
  readonly query: AgentQuery;
}

/** Counted by the database alone: a claim is no entry of the record. */
function Unattested({ count }: { readonly count: number }) {
  const approvals = count === 1 ? "One approval was" : `${count} approvals were`;
  return (
    <div className="mb-5">
      <Callout tone="warn" title={`${approvals} claimed, and never reported on`}>
        A run began an approved action, and no attestation followed within an hour. The action failed, or ran
        without a record. The service says so; nothing signed shows it.
      </Callout>
    </div>
  );
}

function LookAlikes({ slugs }: { readonly slugs: readonly string[] }) {
  return (
    <div className="mt-5 max-w-[68ch]">
      <Callout
        tone="warn"
        title={slugs.length === 1 ? "Another agent looks like this one" : "Other agents look like this one"}
      >
        Compare the slug letter by letter with the one you expect. Similar slugs:
        <ul className="mt-1">
          {slugs.map((slug) => (
            <li key={slug} className="font-mono">
              <TextLink href={`/agent/${slug}`}>{slug}</TextLink>
            </li>
          ))}
        </ul>
      </Callout>
    </div>
  );
}

export function AgentView({ agent, record, query }: AgentViewProps) {
  const path = `/agent/${agent.slug}`;
  const { approval, action, warnings } = query;
  const isSorted = query.sort === "amount";
  const isFiltered = isSorted || [approval, action, warnings].some((value) => value !== undefined);
  const isWhole = query.cursor === undefined && agent.next_cursor === null;
  const hasAmount = agent.attestations.some(({ amount }) => amount !== null);
  const sort = {
    isSorted,
    href: pageAddress(path, { ...query, sort: isSorted ? undefined : "amount" }, null),
  };
  return (
    <div className="mx-auto max-w-7xl px-4 pt-8 sm:px-6 sm:pt-12">
      <p className="text-muted text-sm">Agent</p>
      <h1 className="mt-1 font-semibold text-3xl sm:text-4xl">
        <AgentText value={agent.name ?? agent.slug} isName />
      </h1>
      {agent.description === null ? null : (
        <p className="mt-3 max-w-[68ch] text-lg text-muted">
          <AgentText value={agent.description} />
        </p>
      )}
      {agent.look_alikes.length === 0 ? null : <LookAlikes slugs={agent.look_alikes} />}
      {agent.identity.frozen_at === null ? null : (
        <div className="mt-5 max-w-[68ch]">
          <Callout tone="warn" title="Frozen by its organization">
            Since <Timestamp iso={agent.identity.frozen_at} />. Its requests can't be approved, and its
            approvals can't be used. If it attests anyway, the attestation carries a warning.
          </Callout>
        </div>
      )}
      <div className="mt-6 grid items-start gap-x-12 gap-y-4 lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
        <AgentFacts agent={agent} />
        <p className="text-[15px] text-muted">
          Name, description, code hash and tools are what the agent's owner registered. Each attestation is
          checked against what was registered when it was created. Machine-readable:{" "}
          <a className="text-accent underline" href={`/v1/agent/${agent.slug}`}>
            JSON
          </a>
          ,{" "}
          <a className="text-accent underline" href={`${path}/feed.json`}>
            JSON Feed
          </a>
          ,{" "}
          <a className="text-accent underline" href={`${path}/feed.atom`}>
            Atom
          </a>
          .
        </p>
      </div>
      <Section id="attestations" title="Attestations" lead="Open one to verify it.">
        <FeedFilterForm
          path={path}
          approval={approval}
          action={action}
          warnings={warnings}
          isSorted={isSorted}
        />
        <div className="mt-5">
          {isSorted || hasAmount || !isWhole ? <AmountOrder {...sort} /> : null}
          <FeedTable entries={agent.attestations} isFiltered={isFiltered} sort={sort} />
        </div>
        <CursorPagination
          label="attestations"
          isByAmount={isSorted}
          {...(query.cursor === undefined ? {} : { firstHref: pageAddress(path, query, null) })}
          {...(agent.next_cursor === null ? {} : { nextHref: pageAddress(path, query, agent.next_cursor) })}
        />
      </Section>
      <Section
        id="record"
        title="Record"
        lead="Every attestation of this agent and every decision on its requests has a number, and each one is chained to the one before it. If the service left one out, moved or changed it, your browser would see it here. What the agent never sent, no record can show."
      >
        {record.unattested === 0 ? null : <Unattested count={record.unattested} />}
        <RecordPanel slug={agent.slug} length={record.length} />
      </Section>
      <div className="grid items-start gap-x-12 lg:grid-cols-2">
        <Section
          id="keys"
          title="Key history"
          lead="Newest first. A key is proven once one of its signatures has been verified."
        >
          <KeyHistory history={agent.identity.key_history.toReversed()} />
          {agent.identity.key_history_cursor === null ? null : (
            <p className="mt-3 text-[15px]">
              <TextLink href={`${path}/keys`}>All keys</TextLink>
            </p>
          )}
        </Section>
        <Section id="tools" title="Tool manifest" lead="The tools that the owner allows this agent to use.">
          <ToolManifest identity={agent.identity} />
        </Section>
      </div>
      <p className="mt-10 text-[15px]">
        Badge for your website:{" "}
        <TextLink href={`/badge/${agent.slug}.svg`}>{`/badge/${agent.slug}.svg`}</TextLink>
      </p>
    </div>
  );
}
