/** Content of a request, whole: how much, what a hook's call runs, to whom, the action, the other details, and last the hash of the inputs. */

import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { Card } from "#components/ui/card";
import { DefinitionList } from "#components/ui/definition-list";
import { Money } from "#components/ui/money";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { formatCount } from "#lib/protocol/text/display-text";
import { type Detail, largeLength, splitDetails } from "./details";
import { JsonListsView } from "./json-lists";
import { markPart } from "./mark-parts";

export const actionId = "action";
export const inputsId = "inputs";

type Context = Readonly<Record<string, string>>;

type Before = ApprovalView["before"];

/** Value before an approver changed it. */
function Was({ children }: { readonly children: ReactNode }) {
  return (
    <span className="block font-normal text-[15px] text-muted">
      was <del>{children}</del>
    </span>
  );
}

/** An excerpt is no part that can be seen whole. */
const markWhole = (id: string) => (id.startsWith("excerpt ") ? {} : markPart(id));

function describeCut({ moreChanges = 0, moreEdits = 0 }: Pick<Detail, "moreChanges" | "moreEdits">): string {
  if (moreEdits > 0) return `And ${formatCount(moreEdits, "more edit")}.`;
  return moreChanges > 0 ? `Cut, with ${formatCount(moreChanges, "more changed line")}.` : "Cut.";
}

const toItem =
  (before: Before) =>
  ({ id, name, label, value, lists, look, excerpt, isListed, changes, isUnmarked, ...more }: Detail) => ({
    id: excerpt === undefined ? id : `excerpt of ${id}`,
    name: <AgentText value={label} isName />,
    value: (
      <div className={look === "code" || look === "run" ? "font-mono" : undefined}>
        {look === "text" && lists !== undefined ? (
          <JsonListsView value={lists} />
        ) : (
          <AgentText
            value={excerpt ?? value}
            changes={changes}
            isCommand={look === "code" || look === "run"}
          />
        )}
        {isUnmarked ? (
          <span className="block font-normal font-sans text-muted text-sm">
            What changes isn't marked here.
          </span>
        ) : null}
        {excerpt === undefined || (isListed && more.moreEdits === undefined) ? null : (
          <span className="block font-normal font-sans text-muted text-sm">
            {describeCut(more)} All of it is under Details.
          </span>
        )}
        {before !== null && Object.hasOwn(before.context, name) ? (
          <Was>
            <AgentText value={before.context[name] ?? ""} />
          </Was>
        ) : null}
      </div>
    ),
    prominent: look === "large",
  });

interface ActionBlockProps {
  readonly request: ApprovalRequest;
  readonly context: Context;
  readonly before?: Before;
  readonly isDecided?: boolean;
}

/** The amount comes before everything else: it is what a wrong approval costs. */
export function ActionBlock({ request, context, before = null, isDecided = false }: ActionBlockProps) {
  const { action, amount, tool } = request;
  const { isCall, run, lead } = splitDetails({ action, tool, context });
  const items = [...run, ...lead].map(toItem(before)).map((item, at) => ({
    ...item,
    prominent: item.prominent || (isCall && at === 0),
  }));
  const actionSize = action.length > largeLength ? "text-base" : "text-xl";
  const actionText = (
    <p className={isCall ? "text-[15px] text-muted" : `font-medium leading-snug ${actionSize}`}>
      <AgentText value={action} />
    </p>
  );
  const isActionFirst = amount === undefined && !isCall;
  return (
    <Card
      title={isDecided ? "What it wanted to do" : "What it wants to do"}
      className="border-line-strong"
      {...markPart(actionId)}
    >
      {amount === undefined ? null : (
        <p className="mb-3 font-semibold text-4xl tabular-nums" data-amount>
          <Money {...amount} />
          {before?.request.amount && before.request.amount.value !== amount.value ? (
            <Was>
              <Money {...before.request.amount} />
            </Was>
          ) : null}
        </p>
      )}
      {isActionFirst ? actionText : null}
      {items.length === 0 ? null : (
        <div
          className={
            isActionFirst ? "-mb-2.5 mt-3 border-line border-t" : "-mt-2.5 mb-3 border-line border-b"
          }
        >
          <DefinitionList items={items} mark={markWhole} />
        </div>
      )}
      {isActionFirst ? null : actionText}
      {tool === undefined || isCall ? null : (
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
  readonly request: Pick<ApprovalRequest, "action" | "tool">;
  readonly context: Context;
  readonly before?: Before;
  readonly isDecided?: boolean;
}

export function ContextBlock({ request, context, before = null, isDecided = false }: ContextBlockProps) {
  const { action, tool } = request;
  const { run, lead, rest } = splitDetails({ action, tool, context });
  if (rest.length === 0 && run.length + lead.length > 0) return null;
  return (
    <Card title="Details">
      {rest.length === 0 ? (
        <p className="text-[15px] text-muted">
          The agent sent no details.
          {isDecided ? "" : " If the action above does not say enough to decide, deny."}
        </p>
      ) : (
        <div className="-my-2.5">
          <DefinitionList items={rest.map(toItem(before))} mark={markPart} />
        </div>
      )}
    </Card>
  );
}

/** Read by programs rather than people, so it comes last. */
export function InputsHash({ inputsHash }: { readonly inputsHash: string | undefined }) {
  return inputsHash === undefined ? null : (
    <p className="text-muted text-sm" {...markPart(inputsId)}>
      Covers the inputs with the hash{" "}
      <span className="break-all font-mono">
        <AgentText value={inputsHash} hideWarnings />
      </span>
    </p>
  );
}
