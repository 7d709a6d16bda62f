/** Marks things made by test keys wherever they are listed, in the look of approvals that are TEST. */
import { StatusPill } from "#components/ui/status-pill";

export function TestKeyMark() {
  return <StatusPill tone="test">By a TEST key</StatusPill>;
}
