/** The outcome of a check: values only if every check has passed, so that nothing unproven looks proven. */

import { AgentText } from "#components/agent-text";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { HashText } from "#components/ui/code-block";
import { DefinitionList } from "#components/ui/definition-list";
import { FieldName } from "#components/ui/field-name";
import { StatusPill, TestMark, type Tone } from "#components/ui/status-pill";
import { Timestamp } from "#components/ui/timestamp";
import { approvalWords, isUnasked } from "#lib/protocol/approval/approval-words";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { MESSAGE_NAMES } from "#lib/protocol/presentation/disclosure";
import type { PresentationHeader } from "#lib/protocol/presentation/presentation";
import { isApprovalMethod } from "#lib/protocol/statement/human-approval";
import { drawWarnings } from "#lib/protocol/statement/warnings";
import { formatCount } from "#lib/protocol/text/display-text";
import type { PresentationReport } from "#lib/verifier/checks/presentation-verify";
import type { CheckedPresentation } from "./check-presentation";
import { DisclosedValue } from "./disclosed-value";

type Checks = PresentationReport["checks"];

const tones: Record<Checks[number]["status"], { tone: Tone; text: string }> = {
  pass: { tone: "pass", text: "passes" },
  fail: { tone: "fail", text: "fails" },
  not_applicable: { tone: "neutral", text: "not asked for" },
  not_run: { tone: "unknown", text: "not run" },
};

/** Times beyond what a Date can hold are legal numbers in the header. */
function Seconds({ value }: { readonly value: number }) {
  const iso = value <= 8_640_000_000_000 ? new Date(value * 1_000).toISOString() : null;
  return iso === null ? `${value} seconds after 1970` : <Timestamp iso={iso} />;
}

function listHeader(header: PresentationHeader) {
  if (header.kind === "public") {
    return [{ id: "aud", name: "Made for", value: "everyone (the attestation's public proof)" }];
  }
  return [
    { id: "aud", name: "Made for", value: <AgentText value={header.audience} /> },
    { id: "nonce", name: "Nonce", value: <AgentText value={header.nonce} /> },
    { id: "iat", name: "Made at", value: <Seconds value={header.issuedAtSeconds} /> },
    { id: "exp", name: "Valid until", value: <Seconds value={header.expiresAtSeconds} /> },
  ];
}

function findValue({ disclosed }: PresentationReport, name: string): JsonValue | undefined {
  return disclosed.find((message) => message.name === name)?.value;
}

function isTest(report: PresentationReport): boolean {
  const environment = findValue(report, "human_approval_environment");
  return typeof environment === "string" && environment !== "production";
}

function writeMethod(report: PresentationReport): string | null {
  const method = findValue(report, "human_approval_method");
  return typeof method === "string" ? method : null;
}

/** A bare `human_approved: true` may be the caller's own word or a TEST; what is hidden must not look better than it is. */
function describeApproval(report: PresentationReport): string {
  const method = findValue(report, "human_approval_method");
  if (method === "hash") return "yes: asserted by the caller, not proven";
  if (!isApprovalMethod(method) || method === "none")
    return "yes, but the method is hidden, so it may only be asserted by the caller";
  if (isTest(report))
    return isUnasked(method)
      ? `${approvalWords[method]} (TEST instance)`
      : "yes: a TEST approval, not a real person";
  return findValue(report, "human_approval_environment") === "production"
    ? `yes: ${approvalWords[method]}`
    : `yes: ${approvalWords[method]}, but the environment is hidden, so it may be a TEST`;
}

function Shown({ checked }: { readonly checked: CheckedPresentation }) {
  const { report, kid } = checked;
  const shown = report.disclosed.map(({ name }) => name as string);
  const hidden = MESSAGE_NAMES.filter((name) => !shown.includes(name) && name !== "blinding");
  return (
    <>
      <Card title={`Shown and proven: ${shown.length} of ${MESSAGE_NAMES.length - 1} fields`}>
        {isTest(report) ? (
          <div className="mb-3">
            <TestMark method={writeMethod(report)} />
          </div>
        ) : null}
        {shown.length === 0 ? (
          <p className="text-[15px]">Only that such an attestation exists.</p>
        ) : (
          <DefinitionList
            items={report.disclosed.map(({ name, value }) => ({
              id: name,
              name: <FieldName name={name} />,
              value:
                name === "human_approved" && value === true ? (
                  describeApproval(report)
                ) : (
                  <DisclosedValue value={value} />
                ),
            }))}
          />
        )}
        <p className="mt-4 text-muted text-sm">Hidden: {hidden.join(", ") || "nothing"}.</p>
      </Card>
      <Card title="The presentation">
        <DefinitionList
          items={[
            ...(report.presentationHeader === null ? [] : listHeader(report.presentationHeader)),
            { id: "kid", name: "Signing key", value: <HashText value={kid} label="Key id" /> },
          ]}
        />
      </Card>
    </>
  );
}

function ChecksCard({ checks }: { readonly checks: Checks }) {
  return (
    <Card title="Checks, in order">
      <ul className="divide-y divide-line">
        {checks.map(({ name, status, detail }) => (
          <li key={name} className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 py-2">
            <span className="min-w-0 flex-1 basis-56 [overflow-wrap:anywhere]">
              <code className="font-mono text-[13px]">{name}</code>
              <span className="block text-muted text-sm">
                <AgentText value={detail} hideWarnings />
              </span>
            </span>
            <StatusPill tone={tones[status].tone}>{tones[status].text}</StatusPill>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** A nonce that was not compared leaves a copy undetected: it is said at the verdict, not in the small print. */
function Verdict({ report, endorsementFault }: CheckedPresentation) {
  const failed = report.checks.find(({ status }) => status === "fail");
  if (failed) {
    return (
      <Callout tone="fail" alert title="This presentation is not valid">
        The check <code className="font-mono text-sm">{failed.name}</code> failed:{" "}
        <AgentText value={failed.detail} hideWarnings />. Nothing in it is proven.
      </Callout>
    );
  }
  if (endorsementFault !== null) {
    return (
      <Callout tone="fail" alert title="The signing key is not endorsed">
        The proof verifies, but the service's Ed25519 key doesn't endorse the BBS key that made it:{" "}
        {endorsementFault}.
      </Callout>
    );
  }
  const isPublic = report.presentationHeader?.kind === "public";
  const warnings = drawWarnings(Object.fromEntries(report.disclosed.map(({ name, value }) => [name, value])));
  const skipped = report.checks.filter(
    ({ name, status }) => (name === "audience" || name === "nonce") && status === "not_applicable",
  );
  return (
    <>
      <Callout
        tone={warnings.length === 0 ? "pass" : "warn"}
        alert
        title={`This presentation is valid${warnings.length === 0 ? "" : `, ${formatCount(warnings.length, "warning")}`}`}
      >
        <p>This service signed one attestation with exactly the values below.</p>
        {warnings.length === 0 ? null : (
          <ul className="mt-2 list-disc pl-5 font-medium">
            {warnings.map(({ code, message }) => (
              <li key={code} data-warning={code}>
                {message}
              </li>
            ))}
          </ul>
        )}
      </Callout>
      {isPublic || skipped.length === 0 ? null : (
        <Callout tone="warn" title={`Not compared: ${skipped.map(({ name }) => name).join(" and ")}`}>
          It may be a copy of a presentation made for someone else. Enter what you expect and check again.
        </Callout>
      )}
      {isPublic ? (
        <Callout tone="info" title="A public proof">
          Anyone can show it again, so it says nothing about who is showing it to you.
        </Callout>
      ) : null}
    </>
  );
}

export function PresentationResult({ checked }: { readonly checked: CheckedPresentation }) {
  const isProven = checked.report.ok && checked.endorsementFault === null;
  return (
    <section aria-label="Result" className="mt-8 flex flex-col gap-5">
      <Verdict {...checked} />
      {isProven ? <Shown checked={checked} /> : null}
      <ChecksCard checks={checked.report.checks} />
    </section>
  );
}
