/** One authorization request as its owner sees it. */
import { AgentText } from "#components/agent-text";
import { type Detail, splitDetails } from "#components/approve/details";
import { GrantBlock } from "#components/approve/grant-block";
import { JsonListsView } from "#components/approve/json-lists";
import { RuleReason } from "#components/rule-reason";
import { HashText } from "#components/ui/code-block";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { Money } from "#components/ui/money";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { levelWords } from "#lib/api/schemas/approval-page";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import type { PersonDecision } from "#lib/api/schemas/portal";
import { formatLeft } from "#lib/protocol/approval/amount";
import { describeUnasked } from "#lib/protocol/approval/decided-words";
import { formatCount } from "#lib/protocol/text/display-text";

/** Calls and recipients lead, as on the approval page; the rest follows the action. */
function showContext(state: AuthorizationState) {
  const { isCall, run, lead, rest } = splitDetails(state);
  const toItem = ({ id, label, value, lists, excerpt, look, changes }: Detail): Definition => ({
    id: excerpt === undefined ? id : `excerpt of ${id}`,
    name: <AgentText value={label} isName />,
    value:
      look === "text" && lists !== undefined ? (
        <JsonListsView value={lists} />
      ) : (
        <AgentText
          value={excerpt ?? value}
          changes={changes}
          className={look === "run" || changes ? "font-mono" : ""}
        />
      ),
  });
  return {
    isCall,
    run: run.map(toItem).map((item, at) => ({ ...item, prominent: isCall && at === 0 })),
    lead: lead.map(toItem),
    rest: rest.map(toItem),
  };
}

function showAsker({ requested_by: asker }: AuthorizationState): Definition[] {
  if (!asker) return [];
  const { requester, organization_domains: domains } = asker;
  return [
    ...(requester === null
      ? []
      : [{ id: "requester", name: "Requester", value: <AgentText value={requester} isName /> }]),
    {
      id: "domains",
      name: "Verified domains",
      value: domains.map(({ domain }) => domain).join(", ") || "none when it was requested",
    },
  ];
}

interface ShownAuthorization extends AuthorizationState {
  readonly deciders: readonly PersonDecision[];
  /** The words of the person who took it back, or of who holds the key that did. */
  revocation_reason?: string | null;
  /** Usage of a standing approval so far. */
  used?: { readonly uses: number; readonly spent: string } | null;
  /** Change by an approver, in words; null without one. */
  readonly changed?: string | null;
  /** The request of the standing approval whose use it is. */
  grant_request_id?: string | null;
  /** Conditions that the rules' explanation speaks of, in Cedar. */
  readonly rules_text?: string | null;
}

/** Explains why people were asked or weren't, and what rules that only log would have said. */
const showReason = (
  { mode, explanation, version }: NonNullable<AuthorizationState["rules"]>,
  text: string | null,
): Definition => ({
  id: "why",
  name: mode === "log_only" ? "Rules (log only)" : "Why",
  value: (
    <>
      <RuleReason explanation={explanation} text={text} />
      <TextLink href={`/portal/rules?version=${version}`}>Version {version}</TextLink>
    </>
  ),
});

const showAmount = ({ amount }: AuthorizationState): Definition[] =>
  amount ? [{ id: "amount", name: "Amount", value: <Money {...amount} />, prominent: true }] : [];
const showTool = ({ tool }: AuthorizationState): Definition[] =>
  tool ? [{ id: "tool", name: "Tool", value: <AgentText value={tool} isName /> }] : [];

function showNeeds({
  approvals,
  required_level,
  required_approvers: groups = [],
}: AuthorizationState): Definition[] {
  const each = groups.map(
    ({ name, count }) => `${formatCount(count, "member")} of ${name ?? "an erased group"}`,
  );
  const given = `${approvals.given} of ${approvals.required}`;
  return [
    { id: "level", name: "Required proof", value: levelWords[required_level] },
    {
      id: "needs",
      name: "Approvals",
      value: <AgentText value={each.length === 0 ? given : `${given} (${each.join(", ")})`} hideWarnings />,
    },
  ];
}

const deedWords = { approved: "Approved by", denied: "Denied by" } as const;
const namelessWords = {
  "World ID": "A person",
  "the link": "Whoever had the link",
  passkey: "A former approver",
  "World ID and passkey": "A former approver",
} as const satisfies Record<PersonDecision["by"], string>;

const showDeciders = ({ deciders, environment }: ShownAuthorization): Definition[] =>
  deciders.map(({ decision, who, by, at }, index) => ({
    id: `decider ${index}`,
    name: deedWords[decision],
    value: (
      <>
        {by === "World ID" && environment !== "production" ? (
          "A test wallet"
        ) : (
          <>
            <AgentText value={who ?? namelessWords[by]} isName />
            {by === "the link" ? "" : `, by ${by}`}
          </>
        )}{" "}
        · <Timestamp iso={at} />
      </>
    ),
  }));

function showUsable({ status, usable_until, attestation_id }: AuthorizationState, end: string | null) {
  if (status !== "approved" || attestation_id) return [];
  if (end !== null) return [{ id: "usable", name: "Ended", value: <Timestamp iso={end} /> }];
  if (!usable_until) return [];
  return [{ id: "usable", name: "Usable until", value: <Timestamp iso={usable_until} relative={false} /> }];
}

function showOutcome(state: ShownAuthorization): Definition[] {
  const items: Definition[] = [];
  if (state.decided_at !== null)
    items.push({
      id: "decided",
      name: state.amended_by ? "Changed at" : state.status === "cancelled" ? "Cancelled" : "Decided",
      value: <Timestamp iso={state.decided_at} />,
    });
  const unasked = describeUnasked(state.decided_by, state.status);
  if (unasked !== null)
    items.push({
      id: "unasked",
      name: "Decided by",
      value: (
        <>
          <AgentText value={unasked} hideWarnings />
          {state.grant_request_id ? (
            <>
              {" "}
              <TextLink href={`/portal/authorizations/${state.grant_request_id}`}>
                The approval that gave it
              </TextLink>
            </>
          ) : null}
        </>
      ),
    });
  if (state.revoked_at !== null)
    items.push({
      id: "revoked",
      name: "Taken back",
      value: (
        <>
          <Timestamp iso={state.revoked_at} />
          {state.revocation_reason ? (
            <span className="block">
              <AgentText value={state.revocation_reason} />
            </span>
          ) : null}
        </>
      ),
    });
  if (state.claimed_at)
    items.push({
      id: "claimed",
      name: "Claimed",
      value: (
        <>
          <Timestamp iso={state.claimed_at} /> by run <AgentText value={state.run ?? ""} isName />
        </>
      ),
    });
  if (state.unattested_at)
    items.push({
      id: "unattested",
      name: "Never attested",
      value:
        "A run claimed this approval, and no attestation followed within an hour. The action failed, or ran without a record.",
    });
  // A freeze's own words are those of "Decided by".
  if (state.denial_reason && state.decided_by?.kind !== "freeze")
    items.push({
      id: "reason",
      name: "Reason given",
      value: <AgentText value={state.denial_reason} />,
    });
  if (state.attestation_id)
    items.push({
      id: "attestation",
      name: "Used by",
      value: (
        <TextLink href={`/portal/attestations/${state.attestation_id}`}>{state.attestation_id}</TextLink>
      ),
    });
  return items;
}

function showChange({ amends, amended_by: changedInto, changed }: ShownAuthorization): Definition[] {
  if (changedInto) {
    const link = <TextLink href={`/portal/authorizations/${changedInto}`}>the changed request</TextLink>;
    return [{ id: "changed", name: "Changed into", value: link }];
  }
  if (!amends) return [];
  const value = (
    <>
      <AgentText value={changed ?? amends.fields.join(", ")} hideWarnings />.{" "}
      <TextLink href={`/portal/authorizations/${amends.request_id}`}>The request before</TextLink>
    </>
  );
  return [{ id: "changed", name: "Changed", value }];
}

function showUsage({ status, grant, used }: ShownAuthorization): Definition[] {
  if (status !== "approved" || !grant || !used) return [];
  const { max_calls, max_budget, currency } = grant;
  const value = (
    <>
      {used.uses} of {formatCount(max_calls, "use")}
      {max_budget === undefined ? null : <>, {formatLeft(used.spent, max_budget, currency ?? "")}</>}
    </>
  );
  return [{ id: "used", name: "Used so far", value }];
}

const isGiven = ({ status, revoked_at }: ShownAuthorization) => status === "approved" && revoked_at === null;

interface AuthorizationFactsProps {
  readonly state: ShownAuthorization;
  /** Time from which nothing can use the approval, if it has ended. */
  readonly end: string | null;
}

export function AuthorizationFacts({ state, end }: AuthorizationFactsProps) {
  const isUnasked = describeUnasked(state.decided_by, state.status) !== null;
  const context = showContext(state);
  const items: Definition[] = [
    ...showAmount(state),
    ...(context.isCall ? [...context.run, ...context.lead] : context.lead),
    {
      id: "action",
      name: "Action",
      value: state.action === "" ? "Erased" : <AgentText value={state.action} />,
      prominent: !context.isCall,
    },
    ...(context.isCall ? [] : context.run),
    ...showChange(state),
    ...showTool(state),
    ...context.rest,
    {
      id: "agent",
      name: "Agent",
      value: <TextLink href={`/portal/agents/${state.agent_slug}`}>{state.agent_slug}</TextLink>,
    },
    ...showAsker(state),
    ...(isUnasked ? [] : showNeeds(state)),
    ...(state.rules ? [showReason(state.rules, state.rules_text ?? null)] : []),
    ...showDeciders(state),
    { id: "code", name: "Confirmation code", value: state.confirmation_code ?? "none" },
    { id: "created", name: "Requested", value: <Timestamp iso={state.created_at} /> },
    state.status === "pending"
      ? { id: "expires", name: "Expires", value: <Timestamp iso={state.expires_at} /> }
      : { id: "expires", name: "Deadline", value: <Timestamp iso={state.expires_at} relative={false} /> },
    ...showOutcome(state),
    ...showUsage(state),
    ...showUsable(state, end),
    { id: "id", name: "Request", value: <HashText value={state.request_id} label="request id" /> },
  ];
  return (
    <>
      <DefinitionList items={items} />
      {state.grant ? (
        <div className="mt-5">
          <GrantBlock
            terms={state.grant}
            phase={state.status === "pending" ? "asked" : isGiven(state) && end === null ? "given" : "over"}
          />
        </div>
      ) : null}
    </>
  );
}
