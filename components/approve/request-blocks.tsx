/** What is asked: the action and its context, whole, with amounts and recipients first and in large type. */
import { AgentText } from "#components/agent-text";
import { Card } from "#components/ui/card";
import { DefinitionList } from "#components/ui/definition-list";

export function ActionBlock({ action }: { readonly action: string }) {
  return (
    <Card title="What it wants to do">
      <p className="font-medium text-xl leading-snug">
        <AgentText value={action} />
      </p>
    </Card>
  );
}

/** Names under which agents put how much and to whom. A name that is missed here is still shown, only smaller. */
const decisive =
  /amount|total|price|sum\b|cost|value|fee|budget|limit|currency|quantity|recipient|payee|beneficiary|creditor|receiver|destination|iban|account|wallet|address|e-?mail|domain|host|\bto\b/;

/** `recipientName`, `recipient_name` and `recipient-name` are read alike, hidden characters inside are not read. */
export function isDecisiveName(name: string): boolean {
  const plain = name.normalize("NFKD").replaceAll(/[\p{M}\p{C}\p{Default_Ignorable_Code_Point}]/gu, "");
  const words = plain.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/[_.\-/]+/g, " ");
  return decisive.test(words.toLowerCase());
}

interface ContextBlockProps {
  readonly context: Readonly<Record<string, string>>;
  readonly inputsHash: string | undefined;
}

export function ContextBlock({ context, inputsHash }: ContextBlockProps) {
  const entries = Object.entries(context).map(([name, value]) => ({
    id: `context ${name}`,
    name: <AgentText value={name} isName />,
    value: <AgentText value={value} />,
    prominent: isDecisiveName(name),
  }));
  const items = [...entries.filter(({ prominent }) => prominent), ...entries.filter((one) => !one.prominent)];
  return (
    <Card title="Details">
      {items.length === 0 ? (
        <p className="text-[15px] text-muted">
          The agent sent no details. If the action above does not say enough to decide, deny.
        </p>
      ) : (
        <div className="-my-2.5">
          <DefinitionList items={items} />
        </div>
      )}
      {inputsHash === undefined ? null : (
        <p className="mt-3 border-line border-t pt-3 text-muted text-sm">
          Covers the inputs with the hash{" "}
          <span className="break-all font-mono text-ink">
            <AgentText value={inputsHash} hideWarnings />
          </span>
        </p>
      )}
    </Card>
  );
}
