/** The number that an agent gave its attestation, and which of its instances counts. */
import type { ClientNumber } from "#lib/protocol/statement/statement";
import { AgentText } from "./agent-text";

export function OwnNumber({ instance, sequence }: ClientNumber) {
  return (
    <>
      Number {sequence.toLocaleString("en")} of instance <AgentText value={instance} isName />
    </>
  );
}
