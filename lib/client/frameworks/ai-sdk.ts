/**
 * `countersign/ai-sdk`: tools of the Vercel AI SDK, 6 and 7. The SDK keeps "approved" in messages, which a client can
 * write, so `execute` asks the service itself.
 */

import { requireFunction } from "#lib/client/gate/gate-checks";
import { askForTool, type RunTool, runTool, type ToolGate } from "./framework";

export type { Description, RunTool, ToolGate } from "./framework";

interface CallOptions {
  toolCallId: string;
  abortSignal?: AbortSignal | undefined;
}

/** `tool({ …, ...gateTool(gate, run) })`: waits for the human inside the tool, in one run. */
export function gateTool<Input, Output>(gate: ToolGate<Input>, run: RunTool<Input, Output>) {
  return { execute: createExecute(gate, run, true) };
}

/**
 * `tool({ …, ...gateToolAcrossRuns(gate, run) })`: the run ends with a `tool-approval-request`. Continue it after the
 * decision, with any `tool-approval-response`: what it says is not believed.
 */
export function gateToolAcrossRuns<Input, Output>(gate: ToolGate<Input>, run: RunTool<Input, Output>) {
  return {
    needsApproval: async (input: Input, options: CallOptions): Promise<boolean> => {
      await askForTool(gate, readCall(input, options));
      return true;
    },
    execute: createExecute(gate, run, false),
  };
}

/** AI SDK 7: `toolApproval: { pay: requestApproval(gate) }` instead of `needsApproval`, so that `reason` has the link. */
export function requestApproval<Input>(gate: ToolGate<Input>) {
  return async (input: Input, options: CallOptions) => {
    const { approval_url, confirmation_code } = await askForTool(gate, readCall(input, options));
    const reason = `A human has to approve this at ${approval_url} (code ${confirmation_code})`;
    return { type: "user-approval" as const, reason };
  };
}

const readCall = <Input>(input: Input, { toolCallId, abortSignal }: CallOptions) => ({
  callId: toolCallId,
  input,
  signal: abortSignal,
});

function createExecute<Input, Output>(gate: ToolGate<Input>, run: RunTool<Input, Output>, wait: boolean) {
  requireFunction(run);
  return (input: Input, options: CallOptions): Promise<Awaited<Output>> =>
    runTool(gate, { ...readCall(input, options), wait }, run);
}
