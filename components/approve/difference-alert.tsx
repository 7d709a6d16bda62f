/** The page and the hash differ: said loudly, and nothing goes on. */
import { Callout } from "#components/ui/callout";

export function DifferenceAlert({ differences }: { readonly differences: readonly string[] }) {
  return (
    <Callout tone="fail" title="Do not approve: this page does not show what would be signed" alert>
      Your browser computed the hash of what stands on this page, and it is not the one that the server wants
      approved. Different: {differences.join(", ")}. World ID was not started. Tell the operator of this
      instance.
    </Callout>
  );
}
