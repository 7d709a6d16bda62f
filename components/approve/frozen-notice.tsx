/** The organization has stopped the agent: a decision would be of no use, but for a denial. */
import { Callout } from "#components/ui/callout";

export function FrozenNotice() {
  return (
    <Callout tone="warn" title="The organization has frozen this agent">
      Until it is unfrozen, nothing of it can be approved, and no approval can be used. You can deny a
      request.
    </Callout>
  );
}
