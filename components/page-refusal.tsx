/**
 * Shown instead of a page that is refused for now: a limit is reached, or the address has a cursor that we never
 * issued.
 */
import { Callout } from "#components/ui/callout";

interface PageRefusalProps {
  readonly title?: string;
  /** "the agent": what nothing is wrong with. */
  readonly subject: string;
  readonly detail: string;
}

export function PageRefusal({
  title = "This page can't be shown right now",
  subject,
  detail,
}: PageRefusalProps) {
  return (
    <div className="mx-auto max-w-2xl px-4 py-20 sm:px-6">
      <Callout tone="warn" title={title}>
        Nothing is wrong with {subject}: {detail}.
      </Callout>
    </div>
  );
}
