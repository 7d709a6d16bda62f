/** Content of a request: the action and its context, whole, with amounts and recipients first and in large type. */

import { AgentText } from "#components/agent-text";
import { Card } from "#components/ui/card";
import { DefinitionList } from "#components/ui/definition-list";
import { Money } from "#components/ui/money";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { largeLength, listDetails } from "./details";
import { markPart } from "./mark-parts";

export const actionId = "action";
export const inputsId = "inputs";

/** How much comes before everything else: it is what a wrong approval costs. */
export function ActionBlock({ request }: { readonly request: ApprovalRequest }) {
  const { action, amount, tool } = request;
  return (
    <Card title="What it wants to do" {...markPart(actionId)}>
      {amount === undefined ? null : (
        <p className="mb-3 font-semibold text-3xl tabular-nums" data-amount>
          <Money {...amount} />
        </p>
      )}
      <p className={`font-medium leading-snug ${action.length > largeLength ? "text-base" : "text-xl"}`}>
        <AgentText value={action} />
      </p>
      {tool === undefined ? null : (
        <p className="mt-3 text-[15px] text-muted">
          With the tool{" "}
          <span className="break-all font-mono text-ink">
            <AgentText value={tool} isName />
          </span>
        </p>
      )}
    </Card>
  );
}

interface ContextBlockProps {
  readonly context: Readonly<Record<string, string>>;
  readonly inputsHash: string | undefined;
  readonly isDecided?: boolean;
}

export function ContextBlock({ context, inputsHash, isDecided = false }: ContextBlockProps) {
  const items = listDetails(context).map(({ id, name, value, look }) => ({
    id,
    name: <AgentText value={name} isName />,
    value: (
      <span className={look === "code" ? "font-mono" : undefined}>
        <AgentText value={value} />
      </span>
    ),
    prominent: look === "large",
  }));
  return (
    <Card title="Details">
      {items.length === 0 ? (
        <p className="text-[15px] text-muted">
          The agent sent no details.
          {isDecided ? "" : " If the action above does not say enough to decide, deny."}
        </p>
      ) : (
        <div className="-my-2.5">
          <DefinitionList items={items} mark={markPart} />
        </div>
      )}
      {inputsHash === undefined ? null : (
        <p className="mt-3 border-line border-t pt-3 text-muted text-sm" {...markPart(inputsId)}>
          Covers the inputs with the hash{" "}
          <span className="break-all font-mono text-ink">
            <AgentText value={inputsHash} hideWarnings />
          </span>
        </p>
      )}
    </Card>
  );
}
