/** Page for a thing that isn't there, or isn't this organization's. */
import { ButtonLink } from "#components/ui/button-link";
import { PageHeading } from "./page-heading";

export function PortalNotFound() {
  return (
    <>
      <PageHeading
        title="Page not found"
        lead="The link may be mistyped or cut off, or lead to another organization's page."
      />
      <ButtonLink href="/portal">Go to the overview</ButtonLink>
    </>
  );
}
