/** The organization's domains: whether each is verified, how to prove it, and what the last check found. */
import { DomainName } from "#components/domain-name";
import { CodeBlock } from "#components/ui/code-block";
import { StatusPill } from "#components/ui/status-pill";
import { Timestamp } from "#components/ui/timestamp";
import type { FormAction } from "#lib/api/schemas/form-state";
import { CheckDomainForm, RemoveDomainDialog } from "./domain-forms";

export interface Domain {
  readonly id: string;
  readonly domain: string;
  readonly unicode: string;
  readonly recordName: string;
  readonly fileUrl: string;
  readonly line: string;
  readonly verifiedSince: string | null;
  readonly foundAt: string | null;
  readonly foundIn: "dns" | "file" | null;
  readonly checkedAt: string | null;
  readonly problem: string | null;
}

export interface DomainActions {
  readonly check: FormAction;
  readonly remove: FormAction;
}

const places = { dns: "DNS", file: "the file" } as const;

function DomainState({ domain }: { readonly domain: Domain }) {
  const { verifiedSince, foundAt, foundIn } = domain;
  if (verifiedSince !== null && foundAt !== null && foundIn !== null)
    return (
      <p className="text-muted text-sm">
        Verified since <Timestamp iso={verifiedSince} relative={false} />, last found in {places[foundIn]} on{" "}
        <Timestamp iso={foundAt} />.
      </p>
    );
  if (foundAt === null) return null;
  return (
    <p className="text-muted text-sm">
      No longer verified: the token was last found on <Timestamp iso={foundAt} relative={false} />. Publish it
      again, then check.
    </p>
  );
}

function Instructions({ domain }: { readonly domain: Domain }) {
  const { recordName, fileUrl, line } = domain;
  return (
    <details open={domain.verifiedSince === null}>
      <summary className="min-h-8 text-[15px]">How to prove it</summary>
      <div className="mt-2 flex flex-col gap-3">
        <p className="text-[15px]">
          Publish this line as a TXT record at{" "}
          <code className="font-mono text-sm [overflow-wrap:anywhere]">{recordName}</code>, or in a file at{" "}
          <code className="font-mono text-sm [overflow-wrap:anywhere]">{fileUrl}</code>. One of them is
          enough. Leave it there: it is checked every day.
        </p>
        <CodeBlock wrap label={`token of ${domain.domain}`} title="Token" code={line} />
      </div>
    </details>
  );
}

interface DomainListProps {
  readonly domains: readonly Domain[];
  /** Null for members, who change nothing. */
  readonly actions: DomainActions | null;
}

export function DomainList({ domains, actions }: DomainListProps) {
  if (domains.length === 0) return <p className="text-muted">No domains yet.</p>;
  return (
    <ul className="divide-y divide-line">
      {domains.map((one) => (
        <li key={one.id} className="flex flex-col gap-2 py-4 first:pt-0">
          <div className="flex flex-wrap items-center gap-3">
            <DomainName domain={one.domain} unicode={one.unicode} />
            {one.verifiedSince === null ? (
              <StatusPill tone="neutral">Not verified</StatusPill>
            ) : (
              <StatusPill tone={one.problem === null ? "pass" : "warn"}>
                {one.problem === null ? "Verified" : "Last check failed"}
              </StatusPill>
            )}
          </div>
          <DomainState domain={one} />
          {one.problem === null || one.checkedAt === null ? null : (
            <p className="text-sm text-warn">
              Last check, <Timestamp iso={one.checkedAt} />: {one.problem}.
            </p>
          )}
          {actions === null ? null : (
            <>
              <Instructions domain={one} />
              <div className="flex flex-wrap items-start gap-2">
                <CheckDomainForm action={actions.check} id={one.id} domain={one.domain} />
                <RemoveDomainDialog action={actions.remove} id={one.id} domain={one.domain} />
              </div>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
