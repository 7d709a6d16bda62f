/** For tests: a model of the OpenAI Agents SDK that calls `pay` once, and then says "done". */
import { type Model, type ModelRequest, Usage } from "@openai/agents";

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
