"use client";
/** Equal requests as a table with sums, which one signature of the person's passkey approves. */
import { useState } from "react";
import { AgentText } from "#components/agent-text";
import { AgentBlock, agentId } from "#components/approve/agent-block";
import { AgentPast } from "#components/approve/agent-past";
import { ApprovalNotices } from "#components/approve/approval-notices";
import { listDetails, writeTitle } from "#components/approve/details";
import { DifferenceAlert } from "#components/approve/difference-alert";
import { GroupsNeeded } from "#components/approve/groups-needed";
import { JsonListsView } from "#components/approve/json-lists";
import { markPart, markRequest } from "#components/approve/mark-parts";
import { postJson } from "#components/approve/post-json";
import { InputsHash } from "#components/approve/request-blocks";
import { conditionsId, SharedConditions } from "#components/approve/request-conditions";
import { type Signed, signList } from "#components/approve/sign-by-passkey";
import { Unseen } from "#components/approve/unseen";
import { useUnseen } from "#components/approve/use-seen";
import { explainProblem } from "#components/approve/world-id-words";
import { RuleReason } from "#components/rule-reason";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { type Column, DataTable } from "#components/ui/data-table";
import { KeyIcon } from "#components/ui/icons";
import { Money } from "#components/ui/money";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { useIsReady } from "#components/ui/use-is-ready";
import type { ApprovalView, ListAnswer } from "#lib/api/schemas/approval-view";
import { sumByCurrency } from "#lib/protocol/approval/amount";
import { listSize } from "#lib/protocol/passkey/assertion";
import { formatCount, sentence, toVisibleText } from "#lib/protocol/text/display-text";

export interface Decidable {
  readonly token: string;
  readonly view: ApprovalView;
  /** Names of the people deputized for; empty if by own right. */
  readonly asDeputyOf: readonly string[];
}

export const AsDeputy = ({ of }: { readonly of: readonly string[] }) =>
  of.length === 0 ? null : (
    <Callout
      tone="info"
      title={
        <>
          You decide as deputy of <AgentText value={of.join(" or ")} isName hideWarnings />
        </>
      }
    >
      The receipt says so. You can't approve what you or the person whose deputy you are requests.
    </Callout>
  );

const nameView = ({ request, context }: ApprovalView) => writeTitle({ ...request, context });

/** A row's second part is what makes it long: its details, why people are asked, and the hash of the inputs. */
function What({ view, token }: Pick<Decidable, "view" | "token">) {
  const { request, context, requested_by: requestedBy, rules_explanation: why, rules_text: text } = view;
  return (
    <div className="flex flex-col gap-1.5">
      <AgentText value={nameView(view)} isCommand />
      <dl className="grid gap-x-4 gap-y-0.5 font-normal sm:grid-cols-[auto_1fr]">
        {listDetails(context).map(({ id, label, value, lists }) => (
          <div key={id} className="contents">
            <dt className="text-muted">
              <AgentText value={label} isName />
            </dt>
            <dd className="min-w-0 [overflow-wrap:anywhere]">
              {lists === undefined ? <AgentText value={value} /> : <JsonListsView value={lists} />}
            </dd>
          </div>
        ))}
      </dl>
      <div className="font-normal text-muted text-sm [&_p]:text-sm">
        {why === null ? null : (
          <div>
            <RuleReason explanation={why} text={text} />
          </div>
        )}
        {requestedBy === null ? null : <AgentPast past={requestedBy.agent_past} />}
        <InputsHash inputsHash={request.inputs_hash} />
        <p>
          <TextLink href={`/approve/${token}`}>Deny, or open it on its own page</TextLink>
        </p>
      </div>
    </div>
  );
}

interface Chosen {
  readonly excluded: ReadonlySet<string>;
  readonly onToggle: (id: string) => void;
}

const listColumns = ({ excluded, onToggle }: Chosen): readonly Column<Decidable>[] => [
  {
    id: "include",
    header: "Include",
    cell: ({ view }) => (
      <input
        type="checkbox"
        className="size-5 accent-[var(--accent-fill)]"
        checked={!excluded.has(view.request_id)}
        onChange={() => onToggle(view.request_id)}
        aria-label={`Include ${toVisibleText(nameView(view))}`}
      />
    ),
  },
  {
    id: "amount",
    header: "Amount",
    numeric: true,
    cell: ({ view: { request } }) =>
      request.amount === undefined ? (
        "none"
      ) : (
        <b className="font-semibold">
          <Money {...request.amount} />
        </b>
      ),
  },
  { id: "what", header: "Action", isRowHeader: true, cell: (row) => <What {...row} /> },
  {
    id: "code",
    header: "Code",
    cell: ({ view }) => <span className="whitespace-nowrap font-mono">{view.confirmation_code}</span>,
  },
  {
    id: "expires",
    header: "Expires",
    cell: ({ view }) => <Timestamp iso={view.expires_at} relative={false} />,
  },
];

function Sums({ views }: { readonly views: readonly ApprovalView[] }) {
  const sums = sumByCurrency(views.flatMap(({ request }) => request.amount ?? []));
  return (
    <p className="mt-3 border-line border-t pt-3 font-semibold text-lg" data-sums>
      {formatCount(views.length, "request")}
      {sums.map(({ value, currency }) => (
        <span key={currency}>
          {" · "}
          <Money value={value} currency={currency} />
        </span>
      ))}
    </p>
  );
}

type Phase =
  | { kind: "ready" | "signing" }
  | Exclude<Signed, { kind: "signed" }>
  | { kind: "answered"; results: ListAnswer["results"] };

async function send(tokens: readonly string[], passkey: unknown): Promise<Phase> {
  const answer = await postJson("/approve/list", { tokens, passkey });
  if (answer.ok) return { kind: "answered", ...(answer.body as ListAnswer) };
  const { status, detail } = answer.problem;
  if (status === 0 || status >= 500)
    return {
      kind: "failed",
      title: "Your approvals aren't confirmed",
      text: "We don't know whether they went through. Reload to see. You can also sign again: each counts once.",
    };
  if (status === 422) return { kind: "failed", title: "Your approvals were not accepted", text: detail };
  return { kind: "failed", ...explainProblem(answer.problem, false) };
}

interface AnsweredProps {
  readonly results: ListAnswer["results"];
  readonly requests: readonly Decidable[];
}

/** Shows the result of each request: every one was decided by itself. */
export function Answered({ results, requests }: AnsweredProps) {
  const others = results.filter(({ outcome }) => outcome !== "counted");
  const counted = results.length - others.length;
  const find = (id: string) => requests.find(({ view }) => view.request_id === id)?.view;
  return (
    <Callout
      tone={others.length === 0 ? "pass" : "warn"}
      title={
        others.length === 0
          ? `You approved ${formatCount(counted, "request")}.`
          : `You approved ${counted} of ${formatCount(results.length, "request")}.`
      }
      alert
    >
      {others.length === 0 ? null : (
        <ul className="list-disc pl-5">
          {others.map(({ request_id, detail }) => {
            const view = find(request_id);
            return (
              <li key={request_id}>
                <AgentText value={view ? nameView(view) : request_id} isExcerpt />
                <span className="block">{sentence(detail)}</span>
              </li>
            );
          })}
        </ul>
      )}
    </Callout>
  );
}

interface InboxListProps {
  readonly requests: readonly [Decidable, ...Decidable[]];
  readonly onAnswered: (answered: AnsweredProps) => void;
  /** The page says once that this instance makes TEST approvals. */
  readonly isTestSaid: boolean;
}

export function InboxList({ requests, onAnswered, isTestSaid }: InboxListProps) {
  const [first] = requests;
  const name = first.view.request_id;
  const [excluded, setExcluded] = useState<ReadonlySet<string>>(new Set());
  const [phase, setPhase] = useState<Phase>({ kind: "ready" });
  const [isStarted, setIsStarted] = useState(false);
  const [isInformed, setIsInformed] = useState(false);
  const isReady = useIsReady();
  const chosen = requests.filter(({ view }) => !excluded.has(view.request_id));
  const { unseen, show } = useUnseen(`list ${name}`, [
    { id: agentId, name: "Requested by" },
    { id: conditionsId, name: "Conditions of each" },
    ...chosen.map(({ view }) => ({
      id: view.request_id,
      name: <AgentText value={nameView(view)} isExcerpt />,
    })),
  ]);
  const isBusy = phase.kind === "signing";

  function toggle(id: string): void {
    setExcluded((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  }

  async function sign(): Promise<void> {
    setIsStarted(true);
    if (isBusy || unseen.length > 0) return;
    setIsInformed(true);
    setPhase({ kind: "signing" });
    const signed = await signList(chosen.map(({ view }) => view));
    if (signed.kind !== "signed") return setPhase(signed);
    const answered = await send(
      chosen.map(({ token }) => token),
      signed.passkey,
    );
    if (answered.kind === "answered") onAnswered({ results: answered.results, requests: chosen });
    setPhase(answered.kind === "answered" ? { kind: "ready" } : answered);
  }

  const { request } = first.view;
  const title = `${formatCount(requests.length, "request")} of ${toVisibleText(request.agent_slug)}`;
  return (
    <article
      {...markRequest(`list ${name}`)}
      aria-label={title}
      className="flex flex-col gap-3 border-line border-b pb-6"
    >
      <ApprovalNotices view={first.view} isTestSaid={isTestSaid} />
      <AsDeputy of={first.asDeputyOf} />
      <Card
        title={`${formatCount(requests.length, "request")} for one decision`}
        className="border-line-strong"
      >
        {request.tool === undefined ? null : (
          <p className="mb-3 text-[15px] text-muted">
            With the tool{" "}
            <span className="break-all font-mono text-ink">
              <AgentText value={request.tool} isName />
            </span>
          </p>
        )}
        <DataTable
          caption={title}
          columns={listColumns({ excluded, onToggle: toggle })}
          rows={requests}
          rowKey={({ view }) => view.request_id}
          markRow={({ view }) => markPart(view.request_id)}
          empty={null}
        />
        <Sums views={chosen.map(({ view }) => view)} />
      </Card>
      <AgentBlock view={first.view} isShared />
      <SharedConditions view={first.view} />
      <GroupsNeeded view={first.view} />
      {isStarted && (!isInformed || unseen.length > 0) ? (
        <Unseen details={unseen} to="your passkey" onShow={show} onContinue={() => void sign()} isStrict />
      ) : null}
      <p className="text-[15px] text-muted">
        Your device signs exactly these requests, once for all. Each is decided by itself.
      </p>
      <Button
        disabled={isBusy || !isReady || chosen.length < listSize.min || first.view.is_frozen}
        onClick={() => void sign()}
      >
        <KeyIcon aria-hidden="true" className="size-5 shrink-0" />
        {isBusy
          ? "Waiting for your device …"
          : `Approve ${formatCount(chosen.length, "request")} with your passkey`}
      </Button>
      {phase.kind === "different" ? <DifferenceAlert differences={phase.differences} where="page" /> : null}
      {phase.kind === "failed" ? (
        <Callout tone="warn" title={phase.title} alert>
          {phase.text}
        </Callout>
      ) : null}
    </article>
  );
}
