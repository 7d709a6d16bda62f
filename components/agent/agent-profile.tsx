/** An agent as registered: key and its history, code, tools. All of it is the owner's claim unless proven. */
import { AgentText } from "#components/agent-text";
import { HashText } from "#components/ui/code-block";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { StatusPill } from "#components/ui/status-pill";
import { Timestamp } from "#components/ui/timestamp";
import type { FeedResponse, IdentityResponse, KeyHistoryEntry } from "#lib/api/schemas/identity";

function KeyStatus({ status }: { readonly status: IdentityResponse["key_status"] }) {
  switch (status) {
    case "none":
      return <StatusPill tone="neutral">No key registered</StatusPill>;
    case "unproven":
      return <StatusPill tone="warn">Key registered, not proven yet</StatusPill>;
    case "proven":
      return <StatusPill tone="proven">Key proven by a signature</StatusPill>;
  }
}

function KeyTimes({ entry }: { readonly entry: KeyHistoryEntry }) {
  return (
    <p className="text-muted text-sm">
      registered <Timestamp iso={entry.registered_at} relative={false} />
      {entry.proven_at === null ? (
        ", not proven"
      ) : (
        <>
          , first proven <Timestamp iso={entry.proven_at} relative={false} />
        </>
      )}
      {entry.retired_at === null ? (
        ", in use"
      ) : (
        <>
          , replaced <Timestamp iso={entry.retired_at} relative={false} />
        </>
      )}
    </p>
  );
}

/** Keeps the given order. */
export function KeyHistory({ history }: { readonly history: readonly KeyHistoryEntry[] }) {
  if (history.length === 0)
    return <p className="text-[15px] text-muted">This agent has never had a registered key.</p>;
  return (
    <ol className="divide-y divide-line border-line border-y">
      {history.map((entry) => (
        <li key={`${entry.public_key} ${entry.registered_at}`} className="py-2">
          <HashText value={entry.public_key} label="public key" />
          <KeyTimes entry={entry} />
        </li>
      ))}
    </ol>
  );
}

export function ToolManifest({ identity }: { readonly identity: IdentityResponse }) {
  const { tools, tool_descriptions: descriptions, tool_manifest_hash: hash } = identity;
  if (tools === null || hash === null)
    return <p className="text-[15px] text-muted">No tool manifest is registered.</p>;
  return (
    <>
      <ul className="divide-y divide-line border-line border-y">
        {tools.map((tool) => (
          <li key={tool} className="py-1.5 text-[15px]">
            <span className="font-mono text-[13px]">
              <AgentText value={tool} isName />
            </span>
            {descriptions?.[tool] === undefined ? null : (
              <span className="block text-muted">
                <AgentText value={descriptions[tool]} />
              </span>
            )}
          </li>
        ))}
      </ul>
      <p className="mt-2 text-muted text-sm">
        Manifest hash <HashText value={hash} label="manifest hash" />
      </p>
    </>
  );
}

export function AgentFacts({ agent }: { readonly agent: FeedResponse }) {
  const { identity } = agent;
  const text = (id: string, name: string, value: string | null): Definition[] =>
    value === null ? [] : [{ id, name, value: <AgentText value={value} /> }];
  return (
    <DefinitionList
      items={[
        ...(agent.name === null || agent.name === agent.slug ? [] : text("slug", "Slug", agent.slug)),
        { id: "key", name: "Identity", value: <KeyStatus status={identity.key_status} /> },
        { id: "since", name: "First seen", value: <Timestamp iso={agent.created_at} /> },
        { id: "count", name: "Public attestations", value: agent.total_attestations.toLocaleString("en") },
        ...text("model", "Model", identity.model_id),
        ...text("code", "Code hash", identity.code_hash),
      ]}
    />
  );
}
