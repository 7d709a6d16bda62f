/** Ways on from a page about something that isn't there. */
import { ButtonLink } from "#components/ui/button-link";

export function VerifyOrHome() {
  return (
    <div className="mt-8 flex flex-wrap gap-3">
      <ButtonLink href="/verify">Verify an id, link or file</ButtonLink>
      <ButtonLink href="/" variant="secondary">
        Go to the home page
      </ButtonLink>
    </div>
  );
}
