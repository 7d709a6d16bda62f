/** A name that no agent has. */
import type { Metadata } from "next";
import { UnknownAgent } from "#components/agent/unknown-agent";

export const metadata: Metadata = { title: "Unknown agent" };

export default function AgentNotFound() {
  return <UnknownAgent />;
}
