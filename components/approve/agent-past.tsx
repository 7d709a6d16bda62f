/** Past of the agent before it asked, as counted at that moment and hashed with the request. */
import { Timestamp } from "#components/ui/timestamp";
import { countedUpTo, type AgentPast as Past } from "#lib/protocol/approval/assign-groups";

/** "1 attestation", "1,000 or more attestations" */
export function countWords(count: number, noun: string): string {
  const number = `${count.toLocaleString("en")}${count >= countedUpTo ? " or more" : ""}`;
  return `${number} ${noun}${count === 1 ? "" : "s"}`;
}

export function AgentPast({ past }: { readonly past: Past }) {
  const { known_since, attestations, requests, denied } = past;
  if (known_since === null)
    return (
      <p className="text-[15px] text-muted">This is the first request of an agent that was unknown before.</p>
    );
  return (
    <p className="text-[15px] text-muted">
      Known since <Timestamp iso={known_since} relative={false} />. Before this request:{" "}
      {countWords(attestations, "attestation")}, {countWords(requests, "approval request")},{" "}
      {countWords(denied, "denial")}.
    </p>
  );
}
