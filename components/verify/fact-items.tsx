/** Facts as rows of a list, the amount and the action largest. */
import { AgentText } from "#components/agent-text";
import type { Definition } from "#components/ui/definition-list";
import type { Fact, FactId } from "#lib/protocol/record/facts";

const isProminent: Partial<Record<FactId, true>> = { amount: true, what: true };
const isName: Partial<Record<FactId, true>> = { tool: true, agent: true };

export const factItems = (facts: readonly Fact[]): Definition[] =>
  facts.map(({ id, label, text }) => ({
    id,
    name: label,
    value: <AgentText value={text} isName={isName[id] ?? false} />,
    prominent: isProminent[id] ?? false,
  }));
