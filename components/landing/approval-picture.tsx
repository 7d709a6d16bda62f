/** View of the person who decides, in short. A picture: nothing in it can be pressed. */
import { AgentText } from "#components/agent-text";
import { buttonClass } from "#components/ui/button-style";
import { DefinitionList } from "#components/ui/definition-list";
import { StatusPill } from "#components/ui/status-pill";

export function ApprovalPicture() {
  return (
    <figure className="rounded-lg border border-line bg-surface shadow-[var(--shadow-card)]">
      <figcaption className="border-line border-b px-5 py-3 text-muted text-sm">
        What the person on the phone sees
      </figcaption>
      <div className="px-5 py-2">
        <DefinitionList
          items={[
            { id: "action", name: "Action", value: <AgentText value="Pay invoice 1042" />, prominent: true },
            { id: "amount", name: "Amount", value: "100.00 EUR", prominent: true },
            { id: "recipient", name: "Recipient", value: "Example Ltd" },
            { id: "agent", name: "Requested by", value: "demo-agent" },
            { id: "left", name: "Time left", value: "9 min 41 s" },
          ]}
        />
        <p className="py-3">
          <StatusPill tone="test">TEST request</StatusPill>
        </p>
        <p aria-hidden="true" className="pointer-events-none grid gap-2 pb-4">
          <span className={buttonClass("neutral", "medium")}>Deny</span>
          <span className={buttonClass("primary", "medium")}>Approve with World ID</span>
        </p>
      </div>
    </figure>
  );
}
