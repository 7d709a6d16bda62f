"use client";
/** While the decision is elsewhere on the page: what it is about, how long it can wait, and the way to it. */
import { AgentText } from "#components/agent-text";
import { Button } from "#components/ui/button";
import { Money } from "#components/ui/money";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { findPayee, rankName } from "#lib/protocol/approval/detail-names";
import { listDetails, writeTitle } from "./details";
import { Most } from "./grant-block";
import { TimeLeft } from "./time-left";
import { coversBottom } from "./use-seen";

interface DecisionBarProps {
  readonly view: ApprovalView;
  readonly isReady: boolean;
  /** While the decision itself is on the screen. */
  readonly isHidden: boolean;
  readonly onChoose: (choice: "deny" | "approve") => void;
}

export function DecisionBar({ view, isReady, isHidden, onChoose }: DecisionBarProps) {
  const { amount, action, tool, grant } = view.request;
  const title = writeTitle({ ...view.request, context: view.context });
  const payee = findPayee(view.context);
  const detail = listDetails(view.context).find(({ name }) => rankName(name) === 0)?.value;
  return (
    <section
      aria-label="Decision, in short"
      {...coversBottom}
      // On a phone on its side, or at 400 %, it would cover half of the request.
      className={`${isHidden ? "invisible" : ""} no-print fixed inset-x-0 bottom-0 z-20 border-line border-t bg-surface px-4 pt-2 pb-[max(0.75rem,env(safe-area-inset-bottom))] shadow-lg sm:px-6 [@media(max-height:20rem)]:hidden`}
    >
      <div className="mx-auto flex max-w-2xl flex-col gap-2 sm:px-6">
        <div className="flex items-baseline justify-between gap-3 text-sm">
          <p className="line-clamp-3 min-w-0 font-medium">
            <AgentText value={title} hideWarnings />
            {title === action || tool === undefined ? null : (
              <span className="font-normal text-muted">
                {" "}
                with <AgentText value={tool} isName hideWarnings />
              </span>
            )}
          </p>
          <p className="shrink-0 text-muted">
            <TimeLeft key={view.now} expiresAt={view.expires_at} serverTime={view.now} isSilent />
          </p>
        </div>
        {grant === null ? null : (
          <p className="font-semibold text-lg leading-tight">
            <Most {...grant} />
          </p>
        )}
        {amount === undefined && detail === undefined ? null : (
          <p className="line-clamp-1 font-semibold text-lg leading-tight">
            {amount === undefined ? <AgentText value={detail ?? ""} hideWarnings /> : <Money {...amount} />}
            {payee === null ? null : (
              <>
                {" "}
                to <AgentText value={payee} hideWarnings />
              </>
            )}
          </p>
        )}
        <div className="grid grid-cols-2 gap-3">
          <Button
            variant="neutral"
            disabled={!isReady}
            aria-label="Deny: go to the form"
            onClick={() => onChoose("deny")}
          >
            Deny
          </Button>
          <Button
            disabled={!isReady || view.is_frozen}
            aria-label={view.groups.length > 0 ? "Approve by passkey" : "Approve: go to World ID"}
            onClick={() => onChoose("approve")}
          >
            Approve
          </Button>
        </div>
        <noscript>
          <a href="#decision" className="text-accent text-sm underline">
            Go to the decision
          </a>
        </noscript>
      </div>
    </section>
  );
}
