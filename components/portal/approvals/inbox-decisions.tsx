"use client";
/** Requests that the person's passkey decides, whole and checked by the browser, as on the pages of their own. */
import { useState } from "react";
import { AgentText } from "#components/agent-text";
import { GrantBlock } from "#components/approve/grant-block";
import { describeMissing } from "#components/approve/groups-needed";
import { PasskeyPanel } from "#components/approve/passkey-panel";
import { ActionBlock, ContextBlock } from "#components/approve/request-blocks";
import { TimeLeft } from "#components/approve/time-left";
import { FocusNews } from "#components/portal/forms/focus-news";
import { Callout } from "#components/ui/callout";
import { useRefresh } from "#components/ui/router";
import { TextLink } from "#components/ui/text-link";
import type { ApprovalView } from "#lib/contract/approval-view";
import { organizationTitle } from "#lib/core/text/organization-name";

interface Decidable {
  readonly token: string;
  readonly view: ApprovalView;
}

function Request({
  token,
  view,
  onCounted,
}: Decidable & { readonly onCounted: (view: ApprovalView) => void }) {
  const refresh = useRefresh();
  const { request, agent, organization } = view;
  return (
    <article aria-label={`Request of ${agent.slug}`} className="flex flex-col gap-3">
      <ActionBlock request={request} />
      {request.grant === null ? null : <GrantBlock terms={request.grant} />}
      <ContextBlock context={view.context} inputsHash={request.inputs_hash} />
      <p className="text-[15px] text-muted">
        Requested by <AgentText value={agent.slug} isName hideWarnings /> for{" "}
        <AgentText value={organizationTitle(organization.name)} isName hideWarnings />.{" "}
        <AgentText value={describeMissing(view) ?? ""} hideWarnings /> Time left:{" "}
        <TimeLeft key={view.now} expiresAt={view.expires_at} serverTime={view.now} isSilent />
      </p>
      <PasskeyPanel
        view={view}
        token={token}
        code=""
        turn={0}
        onChange={() => void refresh()}
        onCounted={() => onCounted(view)}
      />
      <p className="text-[15px]">
        <TextLink href={`/approve/${token}`}>Deny, or see all that is known about who asks</TextLink>
      </p>
    </article>
  );
}

export function InboxDecisions({ requests }: { readonly requests: readonly Decidable[] }) {
  const [counted, setCounted] = useState<ApprovalView | null>(null);
  if (requests.length === 0 && counted === null) return null;
  return (
    <section aria-labelledby="yours" className="mb-5 flex flex-col gap-6 [&>div:empty]:hidden">
      <h2 id="yours" className="font-semibold text-xl">
        Waiting for your passkey
      </h2>
      <FocusNews news={counted?.request_id ?? ""}>
        {counted === null ? null : (
          <Callout tone="pass" title="You approved." alert>
            <AgentText value={counted.request.action} hideWarnings />
          </Callout>
        )}
      </FocusNews>
      {requests.map((one) => (
        <Request key={one.view.request_id} {...one} onCounted={setCounted} />
      ))}
    </section>
  );
}
