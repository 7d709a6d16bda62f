"use client";
/** Requests that the person's passkey decides, whole and checked by the browser, as on the pages of their own. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { AgentText } from "#components/agent-text";
import { AgentBlock } from "#components/approve/agent-block";
import { ApprovalNotices } from "#components/approve/approval-notices";
import { writeTitle } from "#components/approve/details";
import { GrantBlock } from "#components/approve/grant-block";
import { GroupsNeeded } from "#components/approve/groups-needed";
import { Looking } from "#components/approve/looking";
import { markRequest } from "#components/approve/mark-parts";
import { PasskeyPanel } from "#components/approve/passkey-panel";
import { AllQuestions } from "#components/approve/questions";
import { ActionBlock, ContextBlock, InputsHash } from "#components/approve/request-blocks";
import { RequestConditions } from "#components/approve/request-conditions";
import { listShown, Unseen } from "#components/approve/unseen";
import { useUnseen } from "#components/approve/use-seen";
import { isFocusFree } from "#components/portal/forms/focus-news";
import { Callout } from "#components/ui/callout";
import { useRefresh } from "#components/ui/router";
import { TextLink } from "#components/ui/text-link";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { Answered, AsDeputy, type Decidable, InboxList } from "./inbox-list";

interface Shared {
  /** Notes that the signed-in person is looking at the request with this token. */
  readonly look: (token: string) => Promise<unknown>;
  /** The page says once that this instance makes TEST approvals. */
  readonly isTestSaid: boolean;
}

function Request({
  token,
  view,
  asDeputyOf,
  onCounted,
  look,
  isTestSaid,
}: Decidable & Shared & { readonly onCounted: (view: ApprovalView) => void }) {
  const refresh = useRefresh();
  const { request } = view;
  const { unseen, show } = useUnseen(view.request_id, listShown(view));
  const [isStarted, setIsStarted] = useState(false);
  const [isInformed, setIsInformed] = useState(false);
  const [turn, setTurn] = useState(0);
  function start(): boolean {
    setIsStarted(true);
    if (unseen.length === 0) setIsInformed(true);
    return isInformed || unseen.length === 0;
  }
  function goOn(): void {
    setIsInformed(true);
    setTurn((before) => before + 1);
  }
  return (
    <article
      {...markRequest(view.request_id)}
      aria-label={`Request of ${request.agent_slug}: ${toVisibleText(writeTitle({ ...request, context: view.context }))}`}
      className="flex flex-col gap-3 border-line border-b pb-6"
    >
      <ApprovalNotices view={view} isTestSaid={isTestSaid} />
      <AsDeputy of={asDeputyOf} />
      <ActionBlock request={request} context={view.context} before={view.before} />
      {request.grant === null ? null : <GrantBlock terms={request.grant} phase="asked" />}
      <ContextBlock request={request} context={view.context} before={view.before} />
      <AllQuestions before={view.before?.questions ?? []} questions={view.questions} isPending />
      <AgentBlock view={view} />
      <RequestConditions view={view} onElapsed={() => void refresh()} />
      <InputsHash inputsHash={request.inputs_hash} />
      <GroupsNeeded view={view} />
      <Looking view={view} look={() => look(token)} />
      {isStarted && !isInformed ? (
        <Unseen details={unseen} to="your passkey" onShow={show} onContinue={goOn} />
      ) : null}
      <PasskeyPanel
        view={view}
        token={token}
        code=""
        turn={turn}
        mayStart={start}
        isRead={unseen.length === 0}
        onChange={() => void refresh()}
        onCounted={() => onCounted(view)}
      />
      <p className="text-[15px]">
        <TextLink href={`/approve/${token}`}>Deny, or open the request on its own page</TextLink>
      </p>
    </article>
  );
}

const isList = (group: readonly Decidable[]): group is readonly [Decidable, ...Decidable[]] =>
  group.length > 1;

/** `groups`: equal requests are together. */
export function InboxDecisions({
  groups,
  ...shared
}: Shared & { readonly groups: readonly (readonly Decidable[])[] }) {
  const refresh = useRefresh();
  const [counted, setCounted] = useState<ReactNode>(null);
  const news = useRef<HTMLDivElement>(null);
  // The request that was decided leaves the page, and its controls with it.
  useEffect(() => {
    if (counted !== null && (isFocusFree() || document.activeElement?.closest("article")))
      news.current?.focus();
  }, [counted]);
  if (groups.length === 0 && counted === null) return null;
  return (
    <section aria-labelledby="yours" className="mb-5 flex flex-col gap-6 [&>div:empty]:hidden">
      <h2 id="yours" className="font-semibold text-xl">
        Waiting for your passkey
      </h2>
      <div ref={news} tabIndex={-1} className="outline-none">
        {counted}
      </div>
      {groups.map((group) =>
        isList(group) ? (
          <InboxList
            key={group[0].view.request_id}
            requests={group}
            isTestSaid={shared.isTestSaid}
            onAnswered={(answered) => {
              setCounted(<Answered {...answered} />);
              void refresh();
            }}
          />
        ) : (
          group.map((one) => (
            <Request
              key={one.view.request_id}
              {...one}
              {...shared}
              onCounted={({ request, context }) =>
                setCounted(
                  <Callout tone="pass" title="You approved." alert>
                    <AgentText value={writeTitle({ ...request, context })} hideWarnings />
                  </Callout>,
                )
              }
            />
          ))
        ),
      )}
    </section>
  );
}
