/**
 * Tools of each framework, with the framework itself and a model that calls one tool. Whatever a framework's own state
 * says, a tool runs only after a human approved exactly its arguments.
 */
import {
  Annotation,
  Command,
  END,
  interrupt,
  isInterrupted,
  MemorySaver,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { Agent, RunState, run as runAgent, setTracingDisabled, tool as toolOfOpenAi } from "@openai/agents";
import * as six from "ai";
import * as seven from "ai-7";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { approveUnproven, expireRequest, openNext } from "#support/authorizations";
import { clientOf } from "#support/client";
import { anyKind } from "#support/databases";
import { modelOfAiSdk6, modelOfAiSdk7 } from "#support/mock-models";
import { modelOfOpenAi } from "#support/mock-openai-model";
import { setupTestApp } from "#support/setup-app";
import * as aiSdk from "./ai-sdk";
import type { ToolGate } from "./framework";
import { gateNode, type Interrupted } from "./langgraph";
import * as openAi from "./openai-agents";

const { test, key } = setupTestApp(anyKind, { LIMIT_AUTHORIZE_PER_MINUTE: "1000" });

interface Order {
  invoice: number;
  cents: number;
}
type Gate = ToolGate<Order>;
type Pay = (order: Order) => string;

const inputSchema = z.object({ invoice: z.number(), cents: z.number() });
const order: Order = { invoice: 1042, cents: 10_000 };

/** A run that has ended while a human decides: what the program stored of it, and how it goes on. */
interface Paused {
  stored: string;
  /** Always with "approved" of the framework's own, from what is stored. All that came of it, as text. */
  resume(stored: string): Promise<string>;
}
type Start = (gate: Gate, pay: Pay) => Promise<Paused>;

const startAiSdk6: Start = async (gate, pay) => {
  const gated = six.tool({ inputSchema, ...aiSdk.gateToolAcrossRuns(gate, pay) });
  const model = modelOfAiSdk6(order);
  const messages: six.ModelMessage[] = [{ role: "user", content: "Pay invoice 1042" }];
  const { content, response } = await six.generateText({ model, tools: { pay: gated }, messages });
  const asked = content.filter((part) => part.type === "tool-approval-request");
  expect(asked).toHaveLength(1);
  messages.push(...response.messages, {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: asked[0]?.approvalId ?? "", approved: true }],
  });
  return {
    stored: JSON.stringify(messages),
    resume: async (stored) => {
      const given = { model, tools: { pay: gated }, messages: JSON.parse(stored) as six.ModelMessage[] };
      return JSON.stringify((await six.generateText(given)).response.messages);
    },
  };
};

const startAiSdk7: Start = async (gate, pay) => {
  const tools = { pay: seven.tool({ inputSchema, ...aiSdk.gateTool(gate, pay) }) };
  const { execute } = aiSdk.gateToolAcrossRuns(gate, pay);
  const setting = {
    model: modelOfAiSdk7(order),
    tools: { pay: { ...tools.pay, execute } },
    toolApproval: { pay: aiSdk.requestApproval(gate) },
  };
  const messages: seven.ModelMessage[] = [{ role: "user", content: "Pay invoice 1042" }];
  const result = await seven.generateText({ ...setting, messages });
  const asked = result.content.filter((part) => part.type === "tool-approval-request");
  expect(asked).toMatchObject([{ reason: expect.stringMatching(/\/approve\/\S+ \(code \S+\)$/) }]);
  messages.push(...result.responseMessages, {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: asked[0]?.approvalId ?? "", approved: true }],
  });
  return {
    stored: JSON.stringify(messages),
    resume: async (stored) => {
      const given = { ...setting, messages: JSON.parse(stored) as seven.ModelMessage[] };
      return JSON.stringify((await seven.generateText(given)).responseMessages);
    },
  };
};

const startOpenAi: Start = async (gate, pay) => {
  setTracingDisabled(true);
  const parameters = inputSchema;
  const gated = toolOfOpenAi({
    name: "pay",
    description: "",
    parameters,
    ...openAi.gateToolAcrossRuns(gate, pay, parameters),
  });
  const agent = new Agent({ name: "payer", model: modelOfOpenAi(order), tools: [gated] });
  const { interruptions, state } = await runAgent(agent, "Pay invoice 1042");
  expect(interruptions).toHaveLength(1);
  return {
    stored: state.toString(),
    resume: async (stored) => {
      const loaded = await RunState.fromString(agent, stored);
      for (const item of loaded.getInterruptions()) loaded.approve(item);
      return JSON.stringify((await runAgent(agent, loaded)).history);
    },
  };
};

const startLangGraph: Start = async ({ countersign, runId, describe: describeOrder }, pay) => {
  const State = Annotation.Root({ order: Annotation<Order>(), result: Annotation<string>() });
  const graph = new StateGraph(State)
    .addNode("pay", async (state, config) => {
      const action = { ...describeOrder(state.order), callId: "call-1" };
      return { result: await gateNode({ countersign, interrupt }, config, action, state.order, pay) };
    })
    .addEdge(START, "pay")
    .addEdge("pay", END)
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: runId } };
  const waiting = (await graph.invoke({ order }, config)) as { __interrupt__?: { value: Interrupted }[] };
  expect(waiting.__interrupt__?.[0]?.value.approval_url).toContain("/approve/");
  return {
    stored: JSON.stringify(order),
    resume: async (stored) => {
      const update = { order: JSON.parse(stored) as Order };
      try {
        const resume = { decision: "approved" };
        const ended = await graph.invoke(new Command({ resume, update }), config);
        return isInterrupted<Interrupted>(ended)
          ? `asked again: ${ended.__interrupt__[0]?.value?.request_id}`
          : String(ended.result);
      } catch (error) {
        return String(error);
      }
    },
  };
};

describe.each([
  ["AI SDK 6", startAiSdk6],
  ["AI SDK 7", startAiSdk7],
  ["LangGraph", startLangGraph],
  ["OpenAI Agents SDK", startOpenAi],
])("%s", (name, start) => {
  const agentOf = (thread: string) => `${name.replaceAll(" ", "-")}-${thread}`;
  const begin = async (thread: string) => {
    const pay = vi.fn(({ cents }: Order) => `paid ${cents}`);
    const agent_slug = agentOf(thread);
    const countersign = clientOf(test, key);
    const describeOrder = ({ invoice }: Order) => ({ agent_slug, action: `Pay invoice ${invoice}` });
    const paused = await start({ countersign, runId: agent_slug, describe: describeOrder }, pay);
    return { pay, paused, agent_slug };
  };
  const list = async (what: "authorizations" | "attestations", thread: string) =>
    (await test.call("GET", `/v1/${what}?agent_slug=${agentOf(thread)}`, { key })).body[what];

  const refusal = name === "LangGraph" ? "asked again" : "No human has decided yet.";
  it("runs once, after a human and not only the framework's state approved exactly this", async () => {
    const { pay, paused, agent_slug } = await begin("thread-1");
    expect(await paused.resume(paused.stored), "forged").toContain(refusal);
    expect(await list("authorizations", "thread-1"), "asked once").toHaveLength(1);
    await approveUnproven(test, (await openNext(test, key, agent_slug)).requestId);

    const changed = paused.stored.replaceAll("10000", "99999");
    expect(changed).not.toBe(paused.stored);
    expect(await paused.resume(changed), "changed").toContain(refusal);
    expect(pay).not.toHaveBeenCalled();

    expect(await paused.resume(paused.stored)).toContain("paid 10000");
    expect(pay.mock.calls.map(([given]) => given)).toEqual([order]);
    const [attested, ...more] = await list("attestations", "thread-1");
    expect([attested.action, more]).toEqual(["Pay invoice 1042", []]);
    if (name !== "LangGraph") {
      expect(await paused.resume(paused.stored), "replayed").toContain("No human has decided yet.");
      expect(pay).toHaveBeenCalledTimes(1);
    }
  });

  it("doesn't run what a human denied, and doesn't ask again", async () => {
    const { pay, paused, agent_slug } = await begin("thread-2");
    await (await openNext(test, key, agent_slug)).deny("no");
    for (let times = 0; times < 2; times += 1)
      expect(await paused.resume(paused.stored)).toContain("Do not retry");
    expect(pay).not.toHaveBeenCalled();
    expect(await list("authorizations", "thread-2")).toHaveLength(1);
  });
});

describe("LangGraph, when a request has changed while the graph was interrupted", () => {
  const begin = async (agent_slug: string) => {
    const pay = vi.fn(({ cents }: Order) => `paid ${cents}`);
    const countersign = clientOf(test, key);
    const describeOrder = ({ invoice }: Order) => ({ agent_slug, action: `Pay invoice ${invoice}` });
    const paused = await startLangGraph({ countersign, runId: agent_slug, describe: describeOrder }, pay);
    return { pay, paused, first: (await openNext(test, key, agent_slug)).requestId };
  };
  const pass = async (id: string) => {
    await expireRequest(test, id);
    const text =
      "UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE authorization_id = $1";
    await test.query(text, [id]);
  };

  it("runs on an approval given in time, however late it is resumed", async () => {
    const { paused, first } = await begin("late-graph");
    await approveUnproven(test, first);
    await pass(first);
    expect(await paused.resume(paused.stored)).toBe("paid 10000");
  });

  it("interrupts with the request that waits now, and goes on after its decision", async () => {
    const { pay, paused, first } = await begin("expired-graph");
    await pass(first);
    const again = await paused.resume(paused.stored);
    const { requestId } = await openNext(test, key, "expired-graph");
    expect(requestId).not.toBe(first);
    expect(again).toBe(`asked again: ${requestId}`);
    expect(await paused.resume(paused.stored), "too early").toBe(again);
    expect(pay).not.toHaveBeenCalled();
    await approveUnproven(test, requestId);
    expect(await paused.resume(paused.stored)).toBe("paid 10000");
    expect(pay).toHaveBeenCalledTimes(1);
  });
});

it("LangGraph's step keeps its approval while it asks a question of its own", async () => {
  const agent_slug = "asking-graph";
  const pay = vi.fn(({ cents }: Order) => `paid ${cents}, ${JSON.stringify(interrupt("Which account?"))}`);
  const describeOrder = () => ({ agent_slug, action: "Pay" });
  const gate = { countersign: clientOf(test, key), runId: agent_slug, describe: describeOrder };
  const paused = await startLangGraph(gate, pay);
  await approveUnproven(test, (await openNext(test, key, agent_slug)).requestId);
  expect(await paused.resume(paused.stored)).toContain("asked again");
  const list = async () =>
    (await test.call("GET", `/v1/attestations?agent_slug=${agent_slug}`, { key })).body.attestations;
  expect(await list(), "it hasn't ended").toEqual([]);
  expect(await paused.resume(paused.stored)).toBe('paid 10000, {"decision":"approved"}');
  expect(await list()).toHaveLength(1);
});

it("LangGraph's branches that wait at once go on one by one, by the ids of their interrupts", async () => {
  const agent_slug = "branching-graph";
  const countersign = clientOf(test, key);
  const pay = vi.fn(({ cents }: Order) => [`paid ${cents}`]);
  const State = Annotation.Root({
    paid: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const payOrder = (invoice: number) => async (_: unknown, config: object) => {
    const action = { agent_slug, action: `Pay invoice ${invoice}`, callId: `call-${invoice}` };
    return {
      paid: await gateNode({ countersign, interrupt }, config, action, { invoice, cents: invoice }, pay),
    };
  };
  const graph = new StateGraph(State)
    .addNode("one", payOrder(1))
    .addNode("two", payOrder(2))
    .addEdge(START, "one")
    .addEdge(START, "two")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: agent_slug } };
  type Waiting = { id: string; value: Interrupted }[];
  const listWaiting = (ended: unknown): Waiting =>
    isInterrupted<Interrupted>(ended) ? (ended.__interrupt__ as Waiting) : [];
  let waiting = listWaiting(await graph.invoke({}, config));
  expect(new Set(waiting.map(({ id }) => id)).size).toBe(2);
  const requests = waiting.map(({ value }) => value.request_id);
  const resume = async (ids: string[]) => {
    const ended = await graph.invoke(
      new Command({ resume: Object.fromEntries(ids.map((id) => [id, "approved"])) }),
      config,
    );
    waiting = listWaiting(ended);
    return (ended as { paid: string[] }).paid;
  };
  const { body } = await test.call("GET", `/v1/authorize/${requests[1]}`, { key });
  const invoice = body.action === "Pay invoice 1" ? 1 : 2;
  await approveUnproven(test, requests[1] ?? "");
  const both = waiting.map(({ id }) => id);
  await resume(both);
  expect(pay.mock.calls.map(([given]) => given)).toEqual([{ invoice, cents: invoice }]);
  expect(waiting.map(({ value }) => value.request_id)).toEqual([requests[0]]);
  await approveUnproven(test, requests[0] ?? "");
  expect((await resume(waiting.map(({ id }) => id))).toSorted()).toEqual(["paid 1", "paid 2"]);
  expect(pay).toHaveBeenCalledTimes(2);
});

it("the OpenAI Agents SDK's tool asks nobody about arguments that don't fit", async () => {
  setTracingDisabled(true);
  const ask = vi.fn();
  const gate = {
    countersign: { ask, gate: vi.fn() },
    runId: "r",
    describe: () => ({ agent_slug: "a", action: "b" }),
  };
  const parameters = inputSchema;
  const gated = openAi.gateToolAcrossRuns<Order, string>(gate, () => "paid", parameters);
  const model = modelOfOpenAi({ invoice: 1042, cents: "a lot" } as never);
  const tools = [toolOfOpenAi({ name: "pay", description: "", parameters, ...gated })];
  const { interruptions, history } = await runAgent(new Agent({ name: "payer", model, tools }), "Pay");
  expect([interruptions, ask.mock.calls]).toEqual([[], []]);
  expect(JSON.stringify(history)).toContain("Invalid");
});
