/** The organization has stopped the agent: a decision would be of no use, but for a denial. */
import { Callout } from "#components/ui/callout";

export function FrozenNotice({ isPending }: { readonly isPending: boolean }) {
  return (
    <Callout tone="warn" title="The organization has frozen this agent">
      {isPending
        ? "Until it is unfrozen, this request can't be approved. You can still deny it."
        : "Until it is unfrozen, it can't use this approval."}
    </Callout>
  );
}
