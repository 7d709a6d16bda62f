/**
 * `countersign/langgraph`: a step of a LangGraph node or tool that runs only what a human approved. The value that a graph
 * is resumed with can be anybody's, so it is ignored, and the service is asked.
 */

import type { AuthorizationRequest } from "#lib/client/api/wire";
import type { Countersign } from "#lib/client/create";
import type { Run } from "#lib/client/gate/gate";
import { requireFunction } from "#lib/client/gate/gate-checks";
import type { Description } from "./framework";

export type { Description } from "./framework";

export interface GraphGate {
  countersign: Pick<Countersign, "ask" | "gate">;
  /** LangGraph's own: `import { interrupt } from "@langchain/langgraph"`. */
  interrupt: (value: Interrupted) => unknown;
}

export type Interrupted = Pick<
  AuthorizationRequest,
  "request_id" | "approval_url" | "confirmation_code" | "expires_at"
>;

export interface GraphAction extends Description {
  /** Identifies a call of the thread, for example by the tool call's id. */
  callId: string;
}

interface Config {
  configurable?: Record<string, unknown> | undefined;
}

/** The graph needs a checkpointer. Don't catch around it: LangGraph interrupts by throwing. */
export async function gateNode<Inputs, Result>(
  { countersign, interrupt }: GraphGate,
  config: Config,
  action: GraphAction,
  inputs: Inputs,
  run: Run<Inputs, Result>,
): Promise<Awaited<Result>> {
  requireFunction(run);
  const runId = config.configurable?.["thread_id"];
  if (typeof runId !== "string") throw new TypeError("config.configurable.thread_id: expected a string");
  const gated = { ...action, runId, wait: false };
  // The node runs again from its first line when it is resumed, and the same call is asked for once. If it was resumed too
  // early, or its request has changed, the human has yet to see the one that is pending now. If a rule or a
  // standing approval decided at once, no human has anything to see.
  for (let status = "pending"; status === "pending"; ) {
    const { request_id, approval_url, confirmation_code, expires_at, ...asked } = await countersign.ask(
      gated,
      inputs,
    );
    if ((asked.decided_by?.kind ?? "people") !== "people") break;
    interrupt({ request_id, approval_url, confirmation_code, expires_at });
    ({ status } = asked);
  }
  return (await countersign.gate(gated, inputs, run)).result;
}
