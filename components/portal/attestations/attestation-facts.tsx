/** One attestation as its owner sees it: every field, and the checks that were just repeated. */

import { AgentText } from "#components/agent-text";
import { ApprovalPill, ClaimedPill } from "#components/approval-grades";
import { PeopleList } from "#components/decided-line";
import { OwnNumber } from "#components/own-number";
import { Callout } from "#components/ui/callout";
import { HashText } from "#components/ui/code-block";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { Money } from "#components/ui/money";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { checkTexts } from "#components/verify/check-texts";
import { checkTitles } from "#components/verify/check-titles";
import { toFacts } from "#components/verify/facts";
import { warningTone } from "#components/warning-tones";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { describeDecided, labelDecided } from "#lib/protocol/approval/decided-words";
import { findPayee } from "#lib/protocol/approval/detail-names";
import type { Facts, Names } from "#lib/protocol/record/facts";
import { deriveTitle } from "#lib/protocol/record/title";
import { isBacked } from "#lib/protocol/statement/human-approval";
import { formatCount } from "#lib/protocol/text/display-text";
import { findRowWarning } from "#lib/verifier/checks/warning-rows";

function VerdictPill({ verdict }: { readonly verdict: boolean | null }) {
  if (verdict === null) return <StatusPill tone="neutral">Nothing to compare</StatusPill>;
  return verdict ? <StatusPill tone="proven">Yes</StatusPill> : <StatusPill tone="warn">No</StatusPill>;
}

/** Authenticity and what speaks against the content, in one: the one is never shown without the other. */
export function describeAuthenticity({ valid, warnings }: VerifyResponse) {
  if (valid === null) return { tone: "unknown", text: "Content erased" } as const;
  if (!valid) return { tone: "fail", text: "Not authentic" } as const;
  if (warnings.length === 0) return { tone: "pass", text: "Authentic record" } as const;
  return { tone: "warn", text: `Authentic record, ${formatCount(warnings.length, "warning")}` } as const;
}

export function AuthenticityPill({ found }: { readonly found: VerifyResponse }) {
  const { tone, text } = describeAuthenticity(found);
  return <StatusPill tone={tone}>{text}</StatusPill>;
}

export function WarningList({ found: { warnings } }: { readonly found: VerifyResponse }) {
  if (warnings.length === 0) return null;
  return (
    <div className="mb-5">
      <Callout tone="warn" title={warnings.length === 1 ? "Warning" : `${warnings.length} warnings`}>
        <ul className="list-disc pl-5 [overflow-wrap:anywhere]">
          {warnings.map(({ code, message }) => (
            <li key={code} data-warning={code}>
              <AgentText value={message} />
            </li>
          ))}
        </ul>
      </Callout>
    </div>
  );
}

function agentSaid(found: VerifyResponse): Definition[] {
  const texts = [
    ["Inputs hash", found.inputs_hash],
    ["Code hash", found.code_hash],
    ["Model", found.model_id],
    ["Metadata", found.metadata === null ? null : JSON.stringify(found.metadata)],
  ] as const;
  return texts.flatMap(([name, text]) =>
    text === null
      ? []
      : [{ id: name, name, value: <AgentText value={text} className="font-mono text-sm" /> }],
  );
}

function toolsUsed({ tools_used: tools }: VerifyResponse): Definition[] {
  if (tools === null) return [];
  const list = (
    <ul className="font-mono text-sm">
      {[...new Set(tools)].map((tool) => (
        <li key={tool}>
          <AgentText value={tool} isName />
        </li>
      ))}
    </ul>
  );
  return [{ id: "Tools used", name: "Tools used", value: list }];
}

function ownNumber({ client, client_gap: isGap }: VerifyResponse): Definition[] {
  if (client === null) return [];
  const value = (
    <>
      <OwnNumber {...client} />{" "}
      {isGap ? (
        <StatusPill tone="warn">Doesn't follow the last one</StatusPill>
      ) : (
        <StatusPill tone="neutral">Follows the last one</StatusPill>
      )}
    </>
  );
  return [{ id: "client", name: "Agent's own number", value }];
}

function Approval({ found }: { readonly found: VerifyResponse }) {
  const approval = found.human_approval;
  if (approval === null) return <StatusPill tone="unknown">No longer known</StatusPill>;
  const environment = isBacked(approval) ? approval.environment : "";
  if (found.valid === false) {
    const isTest = isBacked(approval) && environment !== "production";
    return <ClaimedPill method={approval.method} isTest={isTest} />;
  }
  return <ApprovalPill method={approval.method} environment={environment} />;
}

const Decided = ({ facts }: { readonly facts: Facts }) => (
  <>
    <AgentText value={describeDecided(facts.decided)} hideWarnings />
    <PeopleList facts={facts} />
  </>
);

/** Links to the approval, and to the one that people gave for many uses. */
function Origin({ requestId, grantId }: Omit<Backing, "details">) {
  return (
    <>
      <TextLink href={`/portal/authorizations/${requestId}`}>The approval</TextLink>
      {grantId === null ? null : (
        <>
          {" · "}
          <TextLink href={`/portal/authorizations/${grantId}`}>The standing approval that gave it</TextLink>
        </>
      )}
    </>
  );
}

function decisionItems(facts: Facts, approval: Backing | null): Definition[] {
  const { decided } = facts;
  const isByNobody = ["nobody", "hidden", "asserted"].includes(decided.kind);
  return [
    ...(isByNobody ? [] : [{ id: "decided", name: labelDecided(decided), value: <Decided facts={facts} /> }]),
    ...(approval === null ? [] : [{ id: "origin", name: "Request", value: <Origin {...approval} /> }]),
  ];
}

interface Backing {
  readonly requestId: string;
  readonly grantId: string | null;
  /** Details that only the organization and its approvers see; null once they are erased. */
  readonly details: Readonly<Record<string, string>> | null;
}

/** Title of the call, above the action that was signed. */
function Action({
  found,
  facts,
  details,
}: {
  found: VerifyResponse;
  facts: Facts;
  details: Backing["details"];
}) {
  const { action } = found;
  if (action === null) return "(erased)";
  const title = facts.title ?? deriveTitle({ action, tool: facts.tool, context: details });
  if (title === action) return <AgentText value={action} />;
  return (
    <>
      <AgentText value={title} />
      <span className="block font-normal text-[15px] text-muted">
        Signed as: <AgentText value={action} hideWarnings />
      </span>
    </>
  );
}

interface AttestationFactsProps {
  readonly found: VerifyResponse;
  readonly names: Names;
  readonly approval: Backing | null;
}

export function AttestationFacts({ found, names, approval }: AttestationFactsProps) {
  const facts = toFacts(found, names);
  const { amount, tool } = facts;
  const payee = approval?.details ? findPayee(approval.details) : null;
  const items: Definition[] = [
    ...(amount === null
      ? []
      : [{ id: "amount", name: "Amount", value: <Money {...amount} />, prominent: true }]),
    ...(payee === null ? [] : [{ id: "payee", name: "To", value: <AgentText value={payee} /> }]),
    {
      id: "action",
      name: "Action",
      value: <Action found={found} facts={facts} details={approval?.details ?? null} />,
      prominent: true,
    },
    ...(tool === null ? [] : [{ id: "tool", name: "Tool", value: <AgentText value={tool} isName /> }]),
    ...agentSaid(found),
    ...toolsUsed(found),
    { id: "visibility", name: "Visibility", value: found.is_public ? "public" : "private" },
    { id: "approval", name: "Human approval", value: <Approval found={found} /> },
    ...decisionItems(facts, approval),
    {
      id: "authenticated",
      name: "Signed by the agent",
      value: <VerdictPill verdict={found.agent_authenticated} />,
    },
    { id: "code", name: "Registered code", value: <VerdictPill verdict={found.code_hash_verified} /> },
    { id: "tools", name: "Registered tools", value: <VerdictPill verdict={found.tools_authorized} /> },
    ...ownNumber(found),
    {
      id: "time",
      name: "Recorded",
      value: found.timestamp === null ? "(erased)" : <Timestamp iso={found.timestamp} />,
    },
    ...(facts.endedAt === null
      ? []
      : [{ id: "ended", name: "Ended (recorded late)", value: <Timestamp iso={facts.endedAt} /> }]),
    {
      id: "log",
      name: "Log position",
      value: `leaf ${found.log.index} of ${found.log.origin}`,
    },
    {
      id: "id",
      name: "Attestation id",
      value: <HashText value={found.attestation_id} label="attestation id" />,
    },
    { id: "hash", name: "Payload hash", value: <HashText value={found.payload_hash} label="payload hash" /> },
  ];
  return <DefinitionList items={items} />;
}

const checkTones = { pass: "pass", fail: "fail", not_applicable: "neutral" } as const;
const checkWords = { pass: "yes", fail: "fails", not_applicable: "does not apply" } as const;

function CheckPill({ name, status, warnings }: CheckPillProps) {
  const warned = status === "fail" ? undefined : findRowWarning(name, warnings);
  if (warned !== undefined) return <StatusPill tone={warningTone(warned.code)}>{warned.answer}</StatusPill>;
  return <StatusPill tone={checkTones[status]}>{checkWords[status]}</StatusPill>;
}

interface CheckPillProps extends Pick<VerifyResponse, "warnings"> {
  readonly name: string;
  readonly status: VerifyResponse["checks"][number]["status"];
}

export function CheckList({ checks, warnings }: Pick<VerifyResponse, "checks" | "warnings">) {
  return (
    <ul className="divide-y divide-line">
      {checks.map(({ name, status, detail }) => (
        <li key={name} className="grid gap-x-4 gap-y-1 py-2.5 sm:grid-cols-[11rem_1fr]">
          <span>
            <span className="block text-[15px]">{checkTitles[name]}</span>
            <CheckPill name={name} status={status} warnings={warnings} />
          </span>
          <span className="min-w-0 text-muted text-sm [overflow-wrap:anywhere]">
            <span className="block">{checkTexts[name].question}</span>
            <AgentText value={findRowWarning(name, warnings)?.message ?? detail} hideWarnings />
          </span>
        </li>
      ))}
    </ul>
  );
}
