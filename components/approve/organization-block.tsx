/**
 * The requester beyond the agent: the organization by its own word and by what this service checked, and what the caller says.
 * Everything here is in the hashed document, and rendered from nothing else.
 */
import { AgentText } from "#components/agent-text";
import { DomainName } from "#components/domain-name";
import { OrganizationMark } from "#components/organization-logo";
import { StatusPill } from "#components/ui/status-pill";
import { Timestamp } from "#components/ui/timestamp";
import {
  isFreshlyChecked,
  type RequestedBy,
  type VerifiedDomain,
} from "#lib/protocol/approval/assign-groups";
import { organizationTitle } from "#lib/protocol/text/organization-name";

interface DomainProps {
  readonly proven: VerifiedDomain;
  readonly requestedAt: string;
}

function Domain({ proven, requestedAt }: DomainProps) {
  const isFresh = isFreshlyChecked(proven, requestedAt);
  return (
    <li>
      <DomainName domain={proven.domain} unicode={proven.unicode} />{" "}
      <StatusPill tone={isFresh ? "pass" : "warn"}>
        {isFresh ? "Verified domain" : "Domain not confirmed lately"}
      </StatusPill>
      <p className="mt-1 text-muted">
        {isFresh ? "" : "The last daily checks didn't confirm it. "}This service checked that the organization
        controls it: since <Timestamp iso={proven.verified_since} relative={false} />, last on{" "}
        <Timestamp iso={proven.last_checked} relative={false} />.
      </p>
    </li>
  );
}

interface OrganizationBlockProps {
  /** Null until an owner has given one. */
  readonly name: string | null;
  readonly requestedBy: RequestedBy;
  readonly requestedAt: string;
}

export function OrganizationBlock({ name, requestedBy, requestedAt }: OrganizationBlockProps) {
  const { organization_mark, organization_domains, requester } = requestedBy;
  return (
    <div className="flex flex-col gap-3 border-line border-t pt-3 text-[15px]">
      <div className="flex items-center gap-3">
        <OrganizationMark mark={organization_mark} />
        <div className="min-w-0">
          <p>
            <span className="text-muted">For the organization </span>
            <span className="font-medium">
              <AgentText value={organizationTitle(name)} isName />
            </span>
          </p>
          <p className="text-muted">
            {name === null
              ? "It hasn't given itself a name."
              : "It chose this name and mark itself. They prove nothing."}
          </p>
        </div>
      </div>
      {organization_domains.length === 0 ? (
        <div>
          <StatusPill tone="warn">No verified domain</StatusPill>
          <p className="mt-1 text-muted">This service hasn't checked who the organization is.</p>
        </div>
      ) : (
        <ul className="flex flex-col gap-2">
          {organization_domains.map((proven) => (
            <Domain key={proven.domain} proven={proven} requestedAt={requestedAt} />
          ))}
        </ul>
      )}
      {requester === null ? null : (
        <p>
          <span className="text-muted">Requester, in the organization's own words: </span>
          <AgentText value={requester} isName />
        </p>
      )}
    </div>
  );
}
