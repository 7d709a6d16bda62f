/** Shared by the files for frameworks: a tool that runs only through the gate. Nothing of a framework is imported. */

import type { AuthorizationRequest } from "#lib/client/api/wire";
import type { Countersign } from "#lib/client/create";
import type { GatedAction } from "#lib/client/gate/gate";

export type Description = Omit<GatedAction, "runId" | "callId" | "wait" | "signal">;

export interface ToolGate<Input> {
  countersign: Pick<Countersign, "ask" | "gate">;
  /** Id of the conversation or thread, as your program keeps it: the same when a run is resumed. */
  runId: string;
  describe: (input: Input) => Description;
}

/** `key` is the same whenever this call runs: pass it on as an idempotency key. */
export type RunTool<Input, Output> = (input: Input, approval: { requestId: string; key: string }) => Output;

export interface ToolCall<Input> {
  callId: string;
  input: Input;
  signal?: AbortSignal | undefined;
  wait: boolean;
}

const readAction = <Input>(
  { runId, describe }: ToolGate<Input>,
  { input, callId, signal, wait }: ToolCall<Input>,
) => ({ ...describe(input), runId, callId, signal, wait }) satisfies GatedAction;

export function askForTool<Input>(
  gate: ToolGate<Input>,
  call: Omit<ToolCall<Input>, "wait">,
): Promise<AuthorizationRequest> {
  return gate.countersign.ask(readAction(gate, { ...call, wait: false }), call.input);
}

export async function runTool<Input, Output>(
  gate: ToolGate<Input>,
  call: ToolCall<Input>,
  run: RunTool<Input, Output>,
): Promise<Awaited<Output>> {
  return (await gate.countersign.gate(readAction(gate, call), call.input, run)).result;
}
