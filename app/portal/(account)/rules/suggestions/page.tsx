/** /portal/rules/suggestions: rules and standing approvals that the organization's own decisions suggest, each with all that it rests on. */
import type { Metadata } from "next";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { SuggestionCard, TakeBackList } from "#components/portal/rules/suggestion-card";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Card } from "#components/ui/card";
import { EmptyState } from "#components/ui/empty-state";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { formatCount } from "#lib/protocol/text/display-text";
import { orNotFound, requirePortal, type SearchPageProps } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { listSuggestions } from "#lib/services/policies/suggestions";
import { listTakeBacks, unusedDays } from "#lib/services/policies/take-back";
import { ask, propose } from "./actions";

export const metadata: Metadata = { title: "Suggested rules" };

const path = "/portal/rules/suggestions";

async function SuggestionsPage({ searchParams }: SearchPageProps) {
  const { context, person, membership } = await requirePortal(path);
  const withMoney = (await searchParams)["money"] === "on";
  const { suggestions, decisions, from } = await orNotFound(listSuggestions(context, person, withMoney));
  const hints = await listTakeBacks(context, person);
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Suggested rules"
        lead={
          <>
            What people always approved and never refused, in {formatCount(decisions, "decision")} about
            requests since <Timestamp iso={from.toISOString()} relative={false} />. A rule learned from a
            habit repeats the habit: read it as if somebody else had written it.{" "}
            <TextLink href="/docs/rules#rules-from-your-own-decisions">How they are found</TextLink>
          </>
        }
      />
      <p className="mb-5">
        {withMoney ? (
          <TextLink href={path}>Leave out requests with an amount</TextLink>
        ) : (
          <TextLink href={`${path}?money=on`}>Look at requests with an amount too</TextLink>
        )}
      </p>
      {suggestions.length === 0 ? (
        <Card>
          <EmptyState title="No rule to suggest">
            It takes at least five equal approvals on two days, and none like them that was refused, changed
            or held back by a rule. Test approvals don't count.
          </EmptyState>
        </Card>
      ) : (
        suggestions.map((one) => (
          <SuggestionCard
            key={one.policyId}
            suggestion={one}
            withMoney={withMoney}
            actions={mayAct(membership.role, "rules") ? { propose, ask } : null}
          />
        ))
      )}
      <Card title="What to take back" className="mt-5">
        {hints.length === 0 ? (
          <p className="text-muted">
            No rule or standing approval is unused for {unusedDays} days, much wider than its use, met a later
            refusal, or is nearly used up.
          </p>
        ) : (
          <TakeBackList hints={hints} />
        )}
      </Card>
    </PortalPage>
  );
}

export default withNotFound(SuggestionsPage, PortalNotFound);
