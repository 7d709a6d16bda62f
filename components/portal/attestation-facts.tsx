/** One attestation as its owner sees it: every field, and the checks that were just repeated. */
import { AgentText } from "#components/agent-text";
import { ApprovalPill, ClaimedPill } from "#components/approval-grades";
import { HashText } from "#components/ui/code-block";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { StatusPill } from "#components/ui/status-pill";
import { Timestamp } from "#components/ui/timestamp";
import type { VerifyResponse } from "#lib/contract/verify";

function VerdictPill({ verdict }: { readonly verdict: boolean | null }) {
  if (verdict === null) return <StatusPill tone="neutral">Nothing to compare</StatusPill>;
  return verdict ? <StatusPill tone="pass">Yes</StatusPill> : <StatusPill tone="fail">No</StatusPill>;
}

export function ValidityPill({ valid }: { readonly valid: boolean | null }) {
  if (valid === null) return <StatusPill tone="unknown">Content erased</StatusPill>;
  return valid ? <StatusPill tone="pass">Valid</StatusPill> : <StatusPill tone="fail">Invalid</StatusPill>;
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

function Approval({ found }: { readonly found: VerifyResponse }) {
  const approval = found.human_approval;
  if (approval === null) return <StatusPill tone="unknown">Not known any more</StatusPill>;
  const environment = approval.method === "proof_of_personhood" ? approval.environment : "";
  if (found.valid === false) {
    const isTest = approval.method === "proof_of_personhood" && environment !== "production";
    return <ClaimedPill method={approval.method} isTest={isTest} />;
  }
  return <ApprovalPill method={approval.method} environment={environment} />;
}

export function AttestationFacts({ found }: { readonly found: VerifyResponse }) {
  const items: Definition[] = [
    {
      id: "action",
      name: "Action",
      value: found.action === null ? "(erased)" : <AgentText value={found.action} />,
      prominent: true,
    },
    ...agentSaid(found),
    ...toolsUsed(found),
    { id: "visibility", name: "Visibility", value: found.is_public ? "public" : "private" },
    { id: "approval", name: "Human approval", value: <Approval found={found} /> },
    {
      id: "authenticated",
      name: "Signed by the agent",
      value: <VerdictPill verdict={found.agent_authenticated} />,
    },
    { id: "code", name: "Registered code", value: <VerdictPill verdict={found.code_hash_verified} /> },
    { id: "tools", name: "Registered tools", value: <VerdictPill verdict={found.tools_authorized} /> },
    {
      id: "time",
      name: "Recorded",
      value: found.timestamp === null ? "(erased)" : <Timestamp iso={found.timestamp} />,
    },
    {
      id: "log",
      name: "Place in the log",
      value: `leaf ${found.log.index} of ${found.log.origin}`,
    },
    { id: "hash", name: "Payload hash", value: <HashText value={found.payload_hash} label="payload hash" /> },
  ];
  return <DefinitionList items={items} />;
}

const checkTones = { pass: "pass", fail: "fail", not_applicable: "neutral" } as const;
const checkWords = { pass: "passes", fail: "fails", not_applicable: "does not apply" } as const;

export function CheckList({ checks }: { readonly checks: VerifyResponse["checks"] }) {
  return (
    <ul className="divide-y divide-line">
      {checks.map(({ name, status, detail }) => (
        <li key={name} className="grid gap-x-4 gap-y-1 py-2.5 sm:grid-cols-[11rem_1fr]">
          <span>
            <span className="block text-[15px]">{name.replaceAll("_", " ")}</span>
            <StatusPill tone={checkTones[status]}>{checkWords[status]}</StatusPill>
          </span>
          <span className="min-w-0 text-muted text-sm [overflow-wrap:anywhere]">{detail}</span>
        </li>
      ))}
    </ul>
  );
}
