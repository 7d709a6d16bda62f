/** The portal's list of approvals, in short. A picture: nothing in it can be pressed. */
import { Money } from "#components/ui/money";
import { StatusPill, type Tone, ToolTag } from "#components/ui/status-pill";

const sections = ["Overview", "Inbox", "Approvals", "Standing approvals", "Approvers", "Rules", "Agents"];

interface Row {
  readonly what: string;
  readonly tool: string;
  readonly amount: string | null;
  readonly tone: Tone;
  readonly state: string;
  readonly decided: string;
}

const rows: readonly Row[] = [
  {
    what: "Pay invoice 1042 to Example Ltd",
    tool: "bank.transfer",
    amount: "12000.5",
    tone: "pending",
    state: "Pending",
    decided: "1 of 2 approvals",
  },
  {
    what: "Pay invoice 1041 to Example Ltd",
    tool: "bank.transfer",
    amount: "150",
    tone: "pass",
    state: "Approved",
    decided: "Standing approval: use 43 of 500",
  },
  {
    what: "Tip the courier",
    tool: "bank.transfer",
    amount: "5",
    tone: "pass",
    state: "Approved",
    decided: "Rule small-amounts allowed it. Nobody was asked.",
  },
  {
    what: "git push origin production",
    tool: "Bash",
    amount: null,
    tone: "fail",
    state: "Denied",
    decided: "Ana",
  },
];

export function PortalPicture() {
  return (
    <figure className="overflow-hidden rounded-lg border border-line bg-surface shadow-[var(--shadow-card)]">
      <figcaption className="border-line border-b px-5 py-3 text-muted text-sm">
        The portal: approvals, with example data
      </figcaption>
      <div className="grid md:grid-cols-[11rem_minmax(0,1fr)]">
        <ul aria-hidden="true" className="hidden border-line border-r p-3 text-muted text-sm md:block">
          {sections.map((section) => (
            <li
              key={section}
              className={`rounded-md px-3 py-2 ${section === "Approvals" ? "bg-accent-soft font-medium text-ink" : ""}`}
            >
              {section}
            </li>
          ))}
        </ul>
        <ul className="divide-y divide-line px-5 text-sm">
          {rows.map(({ what, tool, amount, tone, state, decided }) => (
            <li
              key={what}
              className="grid items-baseline gap-x-4 gap-y-1 py-3 sm:grid-cols-[minmax(0,1fr)_8rem_7rem] lg:grid-cols-[minmax(0,1fr)_8rem_7rem_15rem]"
            >
              <span className="min-w-0">
                <span className="font-medium">{what}</span>
                <ToolTag tool={tool} />
              </span>
              <b
                className={`font-semibold tabular-nums sm:text-right ${amount === null ? "max-sm:hidden" : ""}`}
              >
                {amount === null ? "–" : <Money value={amount} currency="EUR" />}
              </b>
              <span>
                <StatusPill tone={tone}>{state}</StatusPill>
              </span>
              <span className="text-muted sm:max-lg:col-span-3">{decided}</span>
            </li>
          ))}
        </ul>
      </div>
    </figure>
  );
}
