/** Scope of a human_authorization that this browser has verified. */
import { AgentText } from "#components/agent-text";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type FactId, factsOfApproval, listFacts } from "#lib/protocol/record/facts";

/** `text`: the object, or an answer of GET /v1/authorize/{id} that holds it. */
function readAuthorization(text: string): JsonObject {
  const given = JSON.parse(text) as JsonObject & { human_authorization?: JsonObject };
  return given.human_authorization ?? given;
}

interface AuthorizationSummaryProps {
  readonly text: string;
  readonly grade: string;
}

/** Facts with a look of their own. */
const isProminent: Partial<Record<FactId, true>> = { amount: true, what: true };
const isName: Partial<Record<FactId, true>> = { tool: true, agent: true };

/** A TEST, and a proof that only World can check, are graded besides. */
export function AuthorizationSummary({ text, grade }: AuthorizationSummaryProps) {
  const items = listFacts(factsOfApproval(readAuthorization(text))).map(
    ({ id, label, text: value }): Definition => ({
      id,
      name: label,
      value: <AgentText value={value} isName={isName[id] ?? false} />,
      prominent: isProminent[id] ?? false,
    }),
  );
  return <DefinitionList items={[...items, { id: "grade", name: "Grade", value: `${grade}.` }]} />;
}
