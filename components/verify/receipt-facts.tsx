/**
 * The first screen of a receipt: who, what, when, by whom approved, each with who vouches for it. Green is the record's
 * authenticity alone, in the header above.
 */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { PeopleList } from "#components/decided-line";
import { DomainName } from "#components/domain-name";
import { Money } from "#components/ui/money";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { labelDecided } from "#lib/protocol/approval/decided-words";
import type { ApprovalMethod } from "#lib/protocol/statement/human-approval";
import type { ParentLink } from "#lib/protocol/statement/parent";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { describeBounds, readableTime } from "#lib/protocol/time/time-words";
import type { Habits } from "#lib/verifier/checks/warning-rows";
import { toFacts, type Verification } from "./facts";
import { buildFindings, byAgent, byService, byTrace, type Finding, isTraced } from "./findings";
import type { Surroundings } from "./surroundings";

interface FactProps {
  readonly name: string;
  readonly id: string;
  readonly children: ReactNode;
}

function Fact({ name, id, children }: FactProps) {
  return (
    <div
      data-fact={id}
      className="keep-together grid grid-cols-[5.25rem_minmax(0,1fr)] gap-x-3 py-2 sm:grid-cols-[8rem_minmax(0,1fr)] sm:gap-x-6 sm:py-2.5"
    >
      <dt className="text-muted text-sm leading-6">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}

/** Source of the fact above it. */
function By({ children }: { readonly children: ReactNode }) {
  return <p className="text-muted text-sm [overflow-wrap:anywhere]">{children}</p>;
}

function State({ finding }: { readonly finding: Finding }) {
  return <StatusPill tone={finding.tone}>{finding.text}</StatusPill>;
}

function Organization({ organization }: Pick<Surroundings, "organization">) {
  const { name, domains } = organization;
  return (
    <>
      <p className="font-medium text-[17px]">
        <AgentText value={organizationTitle(name)} isName />
      </p>
      {domains.map((proven) => (
        <p key={proven.domain} className="text-[15px]">
          <DomainName {...proven} />{" "}
          <span className="text-muted text-sm">
            {byService}, last on {proven.last_checked.slice(0, 10)}
          </span>
        </p>
      ))}
      {domains.length === 0 ? (
        <By>{name === null ? "" : "The name is its own choice. "}No verified domain</By>
      ) : null}
    </>
  );
}

/** Warns an auditor beside the finding that it qualifies. */
function describeSignatures(
  habits: Habits,
  { agent_authenticated: isSigned }: VerifyResponse,
): string | null {
  const { signatures } = habits;
  if (isSigned !== null || signatures === null) return null;
  const until = readableTime(signatures.until);
  return signatures.isResumed
    ? `It signed other public reports before and after this one, the last before it at ${until}.`
    : `It signed reports until ${until}, none since.`;
}

const lacking: Partial<Record<ApprovalMethod, string>> = {
  none: "here there is none.",
  hash: "here none is proven.",
  rule: "here a rule allowed it, and nobody was asked.",
};

function UsualApproval({ habits, answer }: { readonly habits: Habits; readonly answer: VerifyResponse }) {
  const usual = habits.approvals;
  const method = answer.human_approval?.method;
  const here = method === undefined ? undefined : lacking[method];
  if (usual === null || here === undefined) return null;
  return (
    <p className="text-sm text-warn" data-unusual="approval">
      This agent usually has an approval for “
      <AgentText value={usual.word} isName hideWarnings /> …” ({usual.approved} of the last {usual.of});{" "}
      {here}
    </p>
  );
}

function Who({ verification, surroundings }: ReceiptFactsProps) {
  const { answer } = verification;
  const { agent } = buildFindings(verification);
  const unusual = surroundings === null ? null : describeSignatures(surroundings.habits, answer);
  return (
    <>
      {surroundings === null ? null : (
        <Fact id="organization" name="Who">
          <Organization organization={surroundings.organization} />
        </Fact>
      )}
      <Fact id="agent" name="Agent">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <TextLink href={`/agent/${answer.agent_slug}`}>
            <AgentText value={answer.agent_slug} isName />
          </TextLink>
          <State finding={agent} />
        </p>
        <By>{agent.by}</By>
        {unusual === null ? null : (
          <p className="text-sm text-warn" data-unusual="signature">
            {unusual}
          </p>
        )}
      </Fact>
    </>
  );
}

/** `title`: of a recorded call, whose action names a tool alone. */
function ActionText({ answer, title }: { readonly answer: VerifyResponse; readonly title: string | null }) {
  if (answer.action !== null)
    return (
      <>
        {title === null ? null : (
          <>
            <AgentText value={title} className="font-mono" />
            <br />
          </>
        )}
        <span className={title === null ? undefined : "font-normal text-[15px] text-muted"}>
          <AgentText value={answer.action} />
        </span>
      </>
    );
  const text =
    answer.status === "erased"
      ? "The content was erased."
      : answer.is_public
        ? "The record can't be read."
        : "The content is private.";
  return <span className="text-muted">{text}</span>;
}

function When({ answer }: { readonly answer: VerifyResponse }) {
  const { timestamp, valid, time_bounds: bounds } = answer;
  if (timestamp === null) return null;
  const words = describeBounds(bounds.made_after, bounds.made_before);
  return (
    <Fact id="when" name="When">
      <p>
        <Timestamp iso={timestamp} relative={false} />
      </p>
      <By>
        {valid === false ? (
          "This record failed verification"
        ) : (
          <span data-time-bounds>{toVisibleText(words)}</span>
        )}
      </By>
    </Fact>
  );
}

const readHost = (origin: string) => origin.split("/", 1)[0];

/** A link if the parent is in a log of this host: what another instance has is asked for there. */
function FollowsFrom({ parent, log }: { readonly parent: ParentLink } & Pick<VerifyResponse, "log">) {
  const { id, origin } = parent;
  const words = `Attestation ${id}`;
  return (
    <Fact id="parent" name="Follows from">
      <p className="text-[15px] [overflow-wrap:anywhere]">
        {readHost(origin) === readHost(log.origin) ? (
          <TextLink href={`/verify/${id}`}>{words}</TextLink>
        ) : (
          words
        )}{" "}
        in the log <AgentText value={origin} isName />
      </p>
      <By>{byAgent}, not checked here</By>
    </Fact>
  );
}

interface ReceiptFactsProps {
  readonly verification: Verification;
  readonly surroundings: Surroundings | null;
}

export function ReceiptFacts({ verification, surroundings }: ReceiptFactsProps) {
  const { answer } = verification;
  const { approval } = buildFindings(verification);
  const facts = toFacts(answer);
  return (
    <dl className="divide-y divide-line border-line border-b">
      {facts.amount === null ? null : (
        <Fact id="amount" name="Amount">
          <p className="font-semibold text-2xl leading-tight tabular-nums sm:text-3xl">
            <Money {...facts.amount} />
          </p>
        </Fact>
      )}
      <Fact id="what" name="What">
        <p className="font-medium text-[17px] leading-snug sm:text-xl">
          <ActionText answer={answer} title={facts.title} />
        </p>
        {facts.tool === null || answer.action === `Use the tool ${facts.tool}` ? null : (
          <p className="text-[15px]">
            With the tool{" "}
            <span className="break-all font-mono">
              <AgentText value={facts.tool} isName />
            </span>
          </p>
        )}
        {answer.action === null ? null : <By>{isTraced(answer) ? byTrace : byAgent}</By>}
      </Fact>
      {facts.parent === null ? null : <FollowsFrom parent={facts.parent} log={answer.log} />}
      {facts.changed === null ? null : (
        <Fact id="changed" name="Changed">
          <p className="text-[15px] [overflow-wrap:anywhere]">
            <AgentText value={facts.changed} hideWarnings />
          </p>
          <By>Before it was approved</By>
        </Fact>
      )}
      <Fact id="approval" name={labelDecided(facts.decided)}>
        <p>
          <State finding={approval} />
        </p>
        {approval.detail === undefined ? null : (
          <p className="mt-1 text-[15px] [overflow-wrap:anywhere]">
            <AgentText value={approval.detail} hideWarnings />
          </p>
        )}
        <PeopleList facts={facts} />
        {surroundings?.grant ? (
          <p className="text-[15px]" data-grant>
            Given by people at {readableTime(surroundings.grant.at)}:{" "}
            <TextLink
              href={`/v1/agent/${answer.agent_slug}/record?from=${surroundings.grant.sequence}&limit=1`}
            >
              the approval that gave it, entry {surroundings.grant.sequence} of the agent's record
            </TextLink>
          </p>
        ) : null}
        <By>{approval.by}</By>
        {surroundings === null ? null : <UsualApproval habits={surroundings.habits} answer={answer} />}
      </Fact>
      <When answer={answer} />
      <Who verification={verification} surroundings={surroundings} />
    </dl>
  );
}

/** One sentence; the section below it says the rest. */
export function NotProvenLine({ answer }: { readonly answer: VerifyResponse }) {
  if (answer.valid === false) return null;
  const { amount, payee } = toFacts(answer);
  return (
    <p className="mt-3 text-[15px]">
      It doesn't prove that the action happened as reported
      {amount !== null && payee === null
        ? ", or to whom: of the details that were approved, only a hash is signed."
        : "."}{" "}
      <a className="text-accent underline decoration-1 underline-offset-[3px]" href="#not-proven">
        What else it doesn't prove
      </a>
    </p>
  );
}
