/** Who decided, below an approval's grade in a list. */
import { isApprovalMethod } from "#lib/protocol/statement/human-approval";
import { AgentText } from "./agent-text";

interface DecidedLineProps {
  readonly entry: { readonly decided: string | null; readonly human_approval_method: string | null };
}

/** Nothing where the grade says it all. */
export function DecidedLine({ entry: { decided, human_approval_method: method } }: DecidedLineProps) {
  if (decided === null || !isApprovalMethod(method) || method === "none" || method === "hash") return null;
  return (
    <span className="block w-full text-muted">
      <AgentText value={decided} isExcerpt />
    </span>
  );
}
