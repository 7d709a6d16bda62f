/** View of the person who decides, in short. A picture: nothing in it can be pressed. */
import { AgentText } from "#components/agent-text";
import { buttonClass } from "#components/ui/button-style";
import { DefinitionList } from "#components/ui/definition-list";
import { Money } from "#components/ui/money";
import { StatusPill } from "#components/ui/status-pill";

export function ApprovalPicture({ proof }: { readonly proof: "World ID" | "passkeys" }) {
  return (
    <figure className="rounded-lg border border-line bg-surface shadow-[var(--shadow-card)]">
      <figcaption className="border-line border-b px-5 py-3 text-muted text-sm">
        What the person on the phone sees
      </figcaption>
      <div className="px-5 py-4">
        <p className="font-semibold text-4xl tabular-nums">
          <Money value="100" currency="EUR" />
        </p>
        <p className="mt-1 font-semibold text-xl">to Example Ltd</p>
        <p className="mt-1 font-medium text-lg">
          <AgentText value="Pay invoice 1042" />
        </p>
        <div className="mt-2 border-line border-t">
          <DefinitionList
            items={[
              { id: "iban", name: "IBAN", value: "DE02 1203 0000 0000 2020 51" },
              { id: "agent", name: "Requested by", value: "demo-agent" },
            ]}
          />
        </div>
        <p className="py-2">
          <StatusPill tone="test">TEST request</StatusPill>
        </p>
        <p aria-hidden="true" className="pointer-events-none mt-2 grid grid-cols-2 gap-3">
          <span className={buttonClass("neutral", "medium")}>Deny</span>
          <span className={buttonClass("primary", "medium", "leading-tight")}>
            Approve with {proof === "passkeys" ? "passkey" : proof}
          </span>
        </p>
      </div>
      <p className="border-line border-t px-5 py-3 text-muted text-sm">
        If the person hasn't scrolled to a detail, the page names it before it lets them approve.
      </p>
    </figure>
  );
}
