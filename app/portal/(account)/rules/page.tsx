/** /portal/rules: who may act without asking, what people are asked for, and what was changed when. */
import type { Metadata } from "next";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { RulesDiff } from "#components/portal/rules/rules-diff";
import { RulesEditor } from "#components/portal/rules/rules-editor";
import { RulesWarnings } from "#components/portal/rules/rules-warnings";
import { UnfinishedRequests } from "#components/portal/rules/unfinished-requests";
import { describeChange, VersionChanges } from "#components/portal/rules/version-changes";
import { VersionTable } from "#components/portal/rules/version-table";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Callout } from "#components/ui/callout";
import { Card } from "#components/ui/card";
import { CodeBlock } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import { type RulesResponse, readRulesQuery, type SimulateResponse } from "#lib/api/schemas/rules";
import { orNotFound, requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { listUnfinished } from "#lib/services/approvals/portal-authorizations";
import { findOwnWarnings, readOwnRules } from "#lib/services/policies/read";
import { listMembers } from "#lib/services/portal/organization";
import { cancelRequest, changeRules, confirmChange, dropChange, takeBack } from "./actions";

export const metadata: Metadata = { title: "Rules" };

interface ProposalProps {
  readonly rules: RulesResponse;
  readonly warnings: SimulateResponse["warnings"];
  readonly isAuthor: boolean;
  readonly isOnlyOwner: boolean;
}

function Proposal({ rules, warnings, isAuthor, isOnlyOwner }: ProposalProps) {
  const { proposal } = rules;
  if (proposal === null) return null;
  const fields = { proposal_id: proposal.id };
  return (
    <Card title="A change waits for a second owner" className="mb-5">
      <p className="mb-3">
        {proposal.author} proposed this change: mode {describeChange(proposal, rules.rules)}.
      </p>
      <RulesDiff before={rules.rules?.text ?? ""} after={proposal.text} label="The proposed change" />
      <div className="mt-3 flex flex-col gap-3 empty:hidden">
        <RulesWarnings warnings={warnings} />
      </div>
      <div className="mt-4 flex flex-wrap gap-3">
        {isAuthor ? (
          <p className="self-center text-muted text-sm">
            Another owner must confirm it.
            {isOnlyOwner ? (
              <>
                {" "}
                You are the only one: <TextLink href="/portal/settings">invite another</TextLink>.
              </>
            ) : null}
          </p>
        ) : (
          <ActionDialog
            triggerLabel="Confirm"
            triggerVariant="primary"
            title="Confirm this change"
            description="It is in effect at once, and every owner gets an email."
            action={confirmChange}
            fields={fields}
            confirmLabel="Confirm"
            confirmVariant="primary"
          />
        )}
        <ActionDialog
          triggerLabel="Drop"
          title="Drop this change"
          description="The rules stay as they are."
          action={dropChange}
          fields={fields}
          confirmLabel="Drop"
        />
      </div>
    </Card>
  );
}

async function RulesPage({ searchParams }: SearchPageProps) {
  const { context, person, membership } = await requirePortal("/portal/rules");
  const { sort, ...given } = await searchParams;
  const isSorted = sort === "amount";
  const query = readRulesQuery.safeParse(given);
  const wanted = query.success ? query.data.version : undefined;
  const newest = await readOwnRules(context, person);
  const shown = wanted === undefined ? null : await orNotFound(readOwnRules(context, person, wanted));
  const before =
    wanted === undefined || wanted === 1 ? null : await readOwnRules(context, person, wanted - 1);
  const { rules, versions } = newest;
  const unfinished = await listUnfinished(context, person, { isByAmount: isSorted });
  const isOwner = membership.role === "owner";
  const { proposal } = newest;
  const warnings = isOwner && proposal ? await findOwnWarnings(context, person, proposal.text) : [];
  const members = isOwner ? await listMembers(context.database.db, person.organizationId) : [];
  const isOnlyOwner = members.filter(({ role }) => role === "owner").length === 1;
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Rules"
        lead={
          <>
            Which requests go ahead without asking, which are denied, and whom to ask.{" "}
            <TextLink href="/docs/rules">How to write them</TextLink>
            {" · "}
            <TextLink href="/portal/rules/suggestions">Rules from your own decisions</TextLink>
            {" · "}
            <TextLink href="/portal/rules/review">Review</TextLink>
          </>
        }
      />
      {shown?.rules ? <VersionChanges rules={shown.rules} before={before?.rules ?? null} /> : null}
      {isOwner ? (
        <Proposal
          rules={newest}
          warnings={warnings}
          isAuthor={proposal?.author === person.email}
          isOnlyOwner={isOnlyOwner}
        />
      ) : null}
      <Card>
        {rules?.mode === "log_only" ? (
          <div className="mb-5">
            <Callout tone="info" title="These rules only log">
              Each request shows what they would have said. People are asked as before.
            </Callout>
          </div>
        ) : null}
        {isOwner ? (
          <RulesEditor
            action={changeRules}
            isOnlyOwner={isOnlyOwner}
            rules={{
              version: rules?.version ?? 0,
              text: rules?.text ?? "",
              mode: rules?.mode ?? "log_only",
              fallback: rules?.fallback ?? "ask",
              secondOwner: rules?.require_second_owner ?? false,
            }}
          />
        ) : (
          <CodeBlock
            label="rules"
            title="Only owners can change them"
            code={rules?.text ?? "// no rules yet"}
          />
        )}
      </Card>
      <Card id="unfinished" title="Waiting, or approved and unused" className="mt-5">
        <p className="mb-4 max-w-prose text-muted text-sm">
          New rules reach these too: nobody can approve or claim what they forbid or ask more people for. Take
          back what must not run whatever the rules say.
        </p>
        <UnfinishedRequests
          {...unfinished}
          sort={{ isSorted, href: `/portal/rules${isSorted ? "" : "?sort=amount"}#unfinished` }}
          stop={mayAct(membership.role, "stop") ? { takeBack, cancel: cancelRequest } : null}
        />
      </Card>
      <Card title="Versions" className="mt-5">
        <VersionTable versions={versions} />
      </Card>
    </PortalPage>
  );
}

export default withNotFound(RulesPage, PortalNotFound);
