/** A domain as people write it, with its Punycode beside it if the two differ, and a warning if its letters mix scripts. */
import { AgentText } from "./agent-text";

interface DomainNameProps {
  readonly domain: string;
  readonly unicode: string;
}

export function DomainName({ domain, unicode }: DomainNameProps) {
  return (
    <>
      <span className="font-medium">
        <AgentText value={unicode} isName />
      </span>
      {unicode === domain ? null : <span className="font-mono text-muted text-sm"> ({domain})</span>}
    </>
  );
}
