/**
 * `countersign/openai-agents`: tools of the OpenAI Agents SDK. Its run state keeps "approved", and the program that stores the state
 * can write it, so `execute` asks the service itself.
 */

import { requireFunction } from "#lib/client/gate/gate-checks";
import { askForTool, type RunTool, runTool, type ToolGate } from "./framework";

export type { Description, RunTool, ToolGate } from "./framework";

interface CallDetails {
  toolCall?: { callId: string } | undefined;
  signal?: AbortSignal | undefined;
}

/** `tool({ …, ...gateTool(gate, run, parameters) })`: waits for the human inside the tool, in one run. */
export function gateTool<Input, Output>(
  gate: ToolGate<Input>,
  run: RunTool<Input, Output>,
  parameters?: Parameters,
) {
  return { execute: createExecute(withSchema(gate, parameters), run, true), errorFunction };
}

/** Arguments that an approver changed fit the tool's parameters, as the model's do. */
const withSchema = <Input>(gate: ToolGate<Input>, schema: Parameters | undefined): ToolGate<Input> =>
  schema === undefined ? gate : { ...gate, describe: (input) => ({ schema, ...gate.describe(input) }) };

/** The part of a Standard Schema (version 1, as Zod makes it) that is read here. */
interface Parameters {
  "~standard": { validate: (input: unknown) => unknown };
}

/**
 * `tool({ …, parameters, ...gateToolAcrossRuns(gate, run, parameters) })`: the run ends with an interruption. Approve it
 * after the decision and run the state again: that it was approved is not believed. `parameters`: the tool's schema, so that
 * nobody is asked about arguments that the SDK refuses.
 */
export function gateToolAcrossRuns<Input, Output>(
  gate: ToolGate<Input>,
  run: RunTool<Input, Output>,
  parameters?: Parameters,
) {
  const checked = withSchema(gate, parameters);
  return {
    // Called again when the run continues.
    needsApproval: async (_context: unknown, input: Input, callId?: string): Promise<boolean> => {
      // The SDK asks here first, and only then refuses what doesn't fit.
      if (parameters !== undefined && !(await fits(parameters, input))) return false;
      await askForTool(checked, { callId: requireCallId(callId), input });
      return true;
    },
    execute: createExecute(checked, run, false),
    errorFunction,
  };
}

async function fits(parameters: Parameters, input: unknown): Promise<boolean> {
  const { issues } = (await parameters["~standard"].validate(input)) as { issues?: unknown };
  return issues === undefined;
}

/** The SDK's own asks the model to try again, which is the one thing that it must not do after a denial. */
const errorFunction = (_context: unknown, error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function createExecute<Input, Output>(gate: ToolGate<Input>, run: RunTool<Input, Output>, wait: boolean) {
  requireFunction(run);
  return (input: Input, _context?: unknown, details?: CallDetails): Promise<Awaited<Output>> => {
    const callId = requireCallId(details?.toolCall?.callId);
    return runTool(gate, { callId, input, signal: details?.signal, wait }, run);
  };
}

/** Rejects calls without an id: two could share one approval. */
function requireCallId(callId: string | undefined): string {
  if (!callId) throw new TypeError("the SDK names no tool call");
  return callId;
}
