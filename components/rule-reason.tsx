/** Reason why rules asked, allowed or denied: in sentences, and in the rules' own text for whoever opens it. */
import { AgentText } from "#components/agent-text";

interface RuleReasonProps {
  readonly explanation: string;
  /** Null if the sentences speak of no condition. */
  readonly text: string | null;
}

export const RuleReason = ({ explanation, text }: RuleReasonProps) => (
  <>
    <AgentText value={explanation} hideWarnings />
    {text === null ? null : (
      <details className="mt-1 text-sm">
        <summary className="cursor-pointer text-muted">The rule in Cedar</summary>
        <div className="mt-1 font-mono text-xs [overflow-wrap:anywhere]">
          <AgentText value={text} hideWarnings />
        </div>
      </details>
    )}
  </>
);
