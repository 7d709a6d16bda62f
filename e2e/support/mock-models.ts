/** For tests: models of the frameworks that call `pay` once, and then say "done". */
import { type Model, type ModelRequest, Usage } from "@openai/agents";
import { MockLanguageModelV3 } from "ai/test";
import { MockLanguageModelV4 } from "ai-7/test";

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const usage = { inputTokens: tokens, outputTokens: tokens };

/** What 6 and 7 take from a model is the same here. */
function doGenerate(input: object) {
  return async ({ prompt }: { prompt: readonly { role: string }[] }) => {
    const isCalled = prompt.some(({ role }) => role === "tool");
    const call = { type: "tool-call", toolCallId: "call-1", toolName: "pay", input: JSON.stringify(input) };
    return {
      content: [isCalled ? { type: "text", text: "done" } : call],
      finishReason: { unified: isCalled ? "stop" : "tool-calls", raw: undefined },
      usage,
      warnings: [],
    } as never;
  };
}

export const modelOfAiSdk6 = (input: object) => new MockLanguageModelV3({ doGenerate: doGenerate(input) });
export const modelOfAiSdk7 = (input: object) => new MockLanguageModelV4({ doGenerate: doGenerate(input) });

export function modelOfOpenAi(input: object): Model {
  const call = { type: "function_call", callId: "call-1", name: "pay", arguments: JSON.stringify(input) };
  const text = { type: "output_text", text: "done" };
  const message = { type: "message", role: "assistant", status: "completed", content: [text] };
  return {
    getResponse: async ({ input: items }: ModelRequest) => {
      const isCalled = Array.isArray(items) && items.some(({ type }) => type === "function_call_result");
      return { usage: new Usage(), output: [(isCalled ? message : call) as never] };
    },
    getStreamedResponse: () => {
      throw new Error("not used");
    },
  };
}
