/** The page and the hash differ: a loud alert, and nothing continues. */
import { Callout } from "#components/ui/callout";

interface DifferenceAlertProps {
  readonly differences: readonly string[];
  /** The page contradicts its own hashes, or what the server asked World ID for is not what the page shows. */
  readonly where: "page" | "start";
}

const found = {
  page: "Your browser computed the hashes of what this page shows, and they don't match the ones sent with it.",
  start: "The server asked World ID to prove something other than what this page shows.",
} as const;

export function DifferenceAlert({ differences, where }: DifferenceAlertProps) {
  return (
    <Callout tone="fail" title="Do not approve: this page does not show what would be signed" alert>
      {found[where]} Different: {differences.join(", ")}. World ID was not started. Contact the operator of
      this instance.
    </Callout>
  );
}
