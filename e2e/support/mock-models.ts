/** For tests: models of the AI SDK that call `pay` once, and then say "done". */
import { MockLanguageModelV3 } from "ai/test";
import { MockLanguageModelV4 } from "ai-7/test";

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const usage = { inputTokens: tokens, outputTokens: tokens };

/** Versions 6 and 7 take the same from a model here. */
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
