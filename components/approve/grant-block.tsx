/** The terms of a standing approval, its limits largest, and in words what it would cover and what not. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { LocalTime } from "#components/ui/local-time";
import { Money } from "#components/ui/money";
import { Timestamp } from "#components/ui/timestamp";
import { formatAmount } from "#lib/protocol/approval/amount";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import { labelNames } from "#lib/protocol/approval/detail-names";
import { markPart } from "./mark-parts";

export const grantId = "grant";

function Names({ names }: { readonly names: readonly string[] }) {
  return names.map((name, i) => (
    <span key={name}>
      {i === 0 ? "" : i === names.length - 1 ? " or " : ", "}
      <span className="break-all font-mono">
        <AgentText value={name} isName />
      </span>
    </span>
  ));
}

/** "Up to 4,000.00 EUR in all, 20 uses" */
export function Most({ max_calls, max_budget, currency }: GrantTerms) {
  return (
    <>
      {max_budget === undefined ? null : (
        <>
          Up to <Money value={max_budget} currency={currency ?? ""} /> in all,{" "}
        </>
      )}
      {max_calls === 1 ? "1 use" : `${max_budget === undefined ? "Up to " : ""}${max_calls} uses`}
    </>
  );
}

/** The most that it can cost, largest of all. */
function Limits({ terms }: { readonly terms: GrantTerms }) {
  const { max_amount, currency } = terms;
  return (
    <>
      <p className="font-semibold text-3xl tabular-nums" data-limit>
        <Most {...terms} />
      </p>
      {max_amount === undefined ? null : (
        <p className="mt-1 font-medium text-xl tabular-nums">
          At most <Money value={max_amount} currency={currency ?? ""} /> each
        </p>
      )}
      <p className="mt-1 font-medium text-xl">
        Until <LocalTime iso={terms.expires_at} />
        <Timestamp iso={terms.expires_at} relative={false} />
      </p>
    </>
  );
}

const toHour = (hour: number) => String(hour).padStart(2, "0");

function listCovered({ tools, actions, context, derived }: GrantTerms): ReactNode[] {
  const exact = actions?.filter((action) => !action.endsWith("*")) ?? [];
  const prefixes = actions?.filter((action) => action.endsWith("*")) ?? [];
  return [
    ...(tools ? [<>calls of the tool {<Names names={tools} />}</>] : ["calls of any tool, or of none"]),
    ...(actions
      ? [
          <>
            {exact.length > 0 ? <>the action {<Names names={exact} />}</> : null}
            {exact.length > 0 && prefixes.length > 0 ? ", or " : null}
            {prefixes.length > 0 ? (
              <>actions like {<Names names={prefixes} />}, where * can be anything</>
            ) : null}
          </>,
        ]
      : []),
    ...Object.entries(context ?? {}).map(([name, value]) => (
      <>
        only with <AgentText value={labelNames(Object.keys(context ?? {}))(name)} isName /> ={" "}
        <AgentText value={value} />
      </>
    )),
    ...(derived === undefined
      ? []
      : [
          derived.details.length === 0 ? (
            "only without details"
          ) : (
            <>
              only with these details, and no others:{" "}
              {derived.details.map((name, i) => (
                <span key={name}>
                  {i === 0 ? "" : ", "}
                  <AgentText value={labelNames(derived.details)(name)} isName />
                </span>
              ))}
            </>
          ),
          `only from ${toHour(derived.hours.from)}:00 to ${toHour(derived.hours.to)}:59 UTC`,
        ]),
  ];
}

function listUncovered({ tools, actions, max_amount, currency, context, derived }: GrantTerms): ReactNode[] {
  return [
    ...(tools ? ["any other tool, including one whose name only looks the same"] : []),
    ...(actions ? ["any other action"] : []),
    ...(max_amount === undefined
      ? ["anything that costs an amount"]
      : [
          `more than ${formatAmount({ value: max_amount, currency: currency ?? "" })} at once, another currency, or no amount`,
        ]),
    ...(derived || (context && Object.keys(context).length > 0) ? ["other details"] : []),
    ...(derived ? ["another hour of the day"] : []),
    "any other agent, or this one with another key or other code",
  ];
}

function List({ title, items }: { readonly title: string; readonly items: readonly ReactNode[] }) {
  return (
    <div>
      <h3 className="font-medium">{title}</h3>
      <ul className="mt-1 list-disc pl-5 text-[15px]">
        {items.map((item, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a list that never changes
          <li key={i}>{item}</li>
        ))}
      </ul>
    </div>
  );
}

/** Phase of a standing approval: people are asked, have approved, or nothing can use it (any more). */
export type GrantPhase = "asked" | "given" | "over";

const titles: Record<GrantPhase, string> = {
  asked: "What you would allow without being asked again",
  given: "What is allowed without asking again",
  over: "Limits",
};

interface GrantBlockProps {
  readonly terms: GrantTerms;
  readonly phase: GrantPhase;
}

export function GrantBlock({ terms, phase }: GrantBlockProps) {
  const covered = listCovered(terms);
  return (
    <Card title={titles[phase]} {...markPart(grantId)}>
      <Limits terms={terms} />
      <div className="mt-4 grid gap-4 sm:grid-cols-2">
        <List title={covered.length > 1 ? "Covered, if all of this holds" : "Covered"} items={covered} />
        <List
          title={phase === "over" ? "Not covered" : "Not covered: you are asked again"}
          items={listUncovered(terms)}
        />
      </div>
      {phase === "over" ? null : (
        <div className="mt-4">
          <Callout tone="warn" title="Nobody is asked about each use">
            It can be taken back at any time.
            {terms.derived
              ? " A member of the organization asked for it in the portal, which suggested it from earlier approvals; no agent did."
              : null}
          </Callout>
        </div>
      )}
    </Card>
  );
}
