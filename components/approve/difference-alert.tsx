/** The page and the hash differ: said loudly, and nothing goes on. */
import { Callout } from "#components/ui/callout";

interface DifferenceAlertProps {
  readonly differences: readonly string[];
  /** The page contradicts its own hashes, or what the server asked World ID for is not what the page shows. */
  readonly where: "page" | "start";
}

const found = {
  page: "Your browser computed the hashes of what stands on this page, and they are not those that came with it.",
  start: "The server asked World ID to prove something else than what stands on this page.",
} as const;

export function DifferenceAlert({ differences, where }: DifferenceAlertProps) {
  return (
    <Callout tone="fail" title="Do not approve: this page does not show what would be signed" alert>
      {found[where]} Different: {differences.join(", ")}. World ID was not started. Tell the operator of this
      instance.
    </Callout>
  );
}
