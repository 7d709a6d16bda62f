/** /portal/rules/review: a sample of what nobody was asked about, for a person to say whether that is as it should be. */
import type { Metadata } from "next";
import { PortalPage } from "#components/portal/organization/shown-organization";
import { ReviewRatesForm, ReviewTable } from "#components/portal/rules/review-uses";
import { PageHeading } from "#components/portal/shell/page-heading";
import { PortalNotFound } from "#components/portal/shell/portal-not-found";
import { Card } from "#components/ui/card";
import { TextLink } from "#components/ui/text-link";
import { orNotFound, requirePortal } from "#lib/server/pages/portal-request";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { mayAct } from "#lib/services/accounts/members";
import { listReviewRates, listUnreviewed, reviewDays } from "#lib/services/policies/reviews";
import { review, saveRates } from "./actions";

export const metadata: Metadata = { title: "Review" };

async function ReviewPage() {
  const { context, person, membership } = await requirePortal("/portal/rules/review");
  const uses = await orNotFound(listUnreviewed(context, person));
  const rates = await listReviewRates(context, person);
  return (
    <PortalPage organizationId={person.organizationId}>
      <PageHeading
        title="Review"
        lead={
          <>
            A sample of what rules and standing approvals allowed in the last {reviewDays} days without asking
            anybody. It has happened; a verdict stops nothing, but suggestions of rules learn from it.{" "}
            <TextLink href="/docs/rules#review-what-nobody-was-asked-about">How it works</TextLink>
          </>
        }
      />
      <Card>
        <ReviewTable uses={uses} review={mayAct(membership.role, "stop") ? review : null} />
      </Card>
      {mayAct(membership.role, "rules") ? (
        <Card title="How much to review" className="mt-5">
          <ReviewRatesForm rates={rates} action={saveRates} />
        </Card>
      ) : null}
    </PortalPage>
  );
}

export default withNotFound(ReviewPage, PortalNotFound);
