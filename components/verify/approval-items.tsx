/** Facts about an approval that is backed by evidence: its level, its people and its content. */
import { AgentText } from "#components/agent-text";
import { HashText } from "#components/ui/code-block";
import type { Definition } from "#components/ui/definition-list";
import { describeLevel } from "#lib/protocol/approval/approval-words";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { BackedApproval } from "#lib/protocol/statement/human-approval";
import { formatCount } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";

/** The names in `verified_by`, as people would say them. */
const witnesses: Record<string, string> = {
  "groth16-local": "this service, from the proof itself",
  "world-portal-v4": "World's verification service",
  "world-chain": "World Chain (the root is registered there)",
};

function readText(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}

/** Identifies the passkey's entry in the roster. */
function passkeyItems(approval: JsonObject, index: number): Definition[] {
  const { roster, groups, deputy_for: deputyFor, list } = approval;
  const listed = isJsonObject(list)
    ? `; request ${Number(list["index"]) + 1} of a list of ${list["size"]}`
    : "";
  const head = isJsonObject(roster) && isJsonObject(roster["head"]) ? roster["head"] : {};
  const count = Array.isArray(groups) ? groups.length : 0;
  return [
    {
      id: `approver-${index}`,
      name: `Enrolled approver ${index + 1}`,
      value: <HashText value={readText(approval, "approver_id")} label={`approver ${index + 1}`} />,
    },
    ...(typeof deputyFor === "string"
      ? [
          {
            id: `deputy-${index}`,
            name: "As the deputy of",
            value: <HashText value={deputyFor} label="the approver in whose place" />,
          },
        ]
      : []),
    {
      id: `passkey-${index}`,
      name: "Passkey",
      value: (
        <AgentText
          value={`signed at ${readableTime(readText(approval, "verified_at"))}; in roster ${String(head["number"])} of the organization, in ${formatCount(count, "required group")}${listed}`}
        />
      ),
    },
  ];
}

function personItems(approval: JsonObject, index: number): Definition[] {
  if (approval["type"] === "passkey") return passkeyItems(approval, index);
  const verifiedBy = Array.isArray(approval["verified_by"]) ? approval["verified_by"] : [];
  const standIn = approval["environment"] === "local" ? " (here its local stand-in)" : "";
  const names = verifiedBy.map((name) =>
    name === "groth16-local" ? witnesses[name] : `${witnesses[String(name)] ?? String(name)}${standIn}`,
  );
  const who = approval["environment"] === "production" ? "Human" : "Test wallet";
  return [
    {
      id: `nullifier-${index}`,
      name: `${who} ${index + 1}, nullifier`,
      value: <HashText value={readText(approval, "nullifier_hash")} label={`nullifier ${index + 1}`} />,
    },
    {
      id: `proof-${index}`,
      name: "Proof",
      value: (
        <AgentText
          value={`World ID ${readText(approval, "protocol_version")}, level ${readText(approval, "level")}, checked at ${readableTime(readText(approval, "verified_at"))} by ${names.join(" and ")}`}
        />
      ),
    },
  ];
}

export function approvalItems(approval: BackedApproval, authorization: JsonObject | null): Definition[] {
  const given = authorization?.["approvals"];
  const approvals = Array.isArray(given) ? given.filter(isJsonObject) : [];
  const approvedAt = authorization === null ? "" : readText(authorization, "approved_at");
  return [
    ...(approval.level === "none"
      ? []
      : [{ id: "level", name: "Level", value: <AgentText value={describeLevel(approval.level)} /> }]),
    { id: "environment", name: "Environment", value: <AgentText value={approval.environment} /> },
    ...(approvedAt === ""
      ? []
      : [{ id: "at", name: "Approved", value: <AgentText value={readableTime(approvedAt)} /> }]),
    {
      id: "inputs",
      name: "Inputs",
      value: approval.inputs_bound
        ? "The approval named this inputs hash. It covers these inputs and no others."
        : "The approval didn't name an inputs hash. It covers the agent, action and context.",
    },
    ...(approvals.length > 0
      ? approvals.flatMap(personItems)
      : approval.nullifier_hashes.map((hash, index) => ({
          id: hash,
          name: `Human ${index + 1}, nullifier`,
          value: <HashText value={hash} label={`nullifier ${index + 1}`} />,
        }))),
    {
      id: "request_hash",
      name: "Request hash",
      value: <HashText value={approval.request_hash} label="request hash" />,
    },
  ];
}
