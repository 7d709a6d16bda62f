/**
 * Between an MCP client and a server: holds matching tool calls for an approval, lets exactly the approved arguments through,
 * attests the outcome, and blocks a tool whose description or schema is not the accepted one. Everything else passes as it
 * came, in both eras of the protocol. Works on messages, over whatever transports carry them.
 */

import { type ApprovedAuthorization, waitForAmended } from "#lib/client/api/authorize";
import { NotApprovedError } from "#lib/client/api/errors";
import type { Service } from "#lib/client/api/transport";
import type { AuthorizationRequest } from "#lib/client/api/wire";
import {
  canonicalHash,
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { askOnce, cancelLatest, type GatedAction, GateMemory, gate, readOutcome, untilAborted } from "./gate";

type Id = string | number;
/** A JSON-RPC message, without its version. */
export interface McpMessage {
  id?: Id;
  method?: string;
  params?: JsonObject;
  result?: JsonObject;
  error?: JsonObject;
}

export interface McpEnds {
  toClient(message: McpMessage): void;
  toServer(message: McpMessage): void;
}

export interface McpGateOptions {
  service: Service;
  /** `schema`: the tool's own of its arguments. */
  describe(
    tool: string,
    input: JsonObject,
    schema: JsonValue | undefined,
  ): Omit<GatedAction, "runId" | "callId">;
  isAsked(tool: string, input: JsonObject): boolean;
  /** A call that nobody was asked about has ended. */
  record(tool: string, input: JsonObject, outcome: ReturnType<typeof readOutcome>): Promise<void>;
  /** False for a tool whose hash is not the accepted one. What is seen first is accepted. */
  isAccepted(tool: JsonObject, hash: string): Promise<boolean>;
  tell(text: string): void;
  /** A client without progress gives up after a minute. */
  patienceSeconds?: number;
}

const usualPatienceSeconds = 50;
const progressMs = 5_000;
/** Go's client 1.8.0 fails at a third without a request, and takes one without `inputRequests` for the end. */
const maxRounds = 3;
const maxPages = 100;
const protocolKey = "io.modelcontextprotocol/protocolVersion";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
const receiptKey = "dev.countersign/receipt";

/** The server's own error, as it came. */
class ServerError extends Error {
  readonly error: JsonObject;
  constructor(error: JsonObject) {
    super(String(error["message"]));
    this.error = error;
  }
}

/** A call of the client: under another id each time that the client goes on with it. */
interface Call {
  id: Id;
  params: JsonObject;
  tool: string;
  input: JsonObject;
  ended: AbortController;
  /** True once nothing waits for its answer. */
  isGone: boolean;
  /** The client was asked for something, and goes on in a message with this state. Until then nothing can be told to it. */
  round: { state: string; goOn(message: McpMessage): void } | null;
}

const readMember = (value: JsonValue | undefined, ...names: string[]): JsonValue | undefined =>
  names.reduce<JsonValue | undefined>(
    (at, name) => (at !== undefined && isJsonObject(at) ? at[name] : undefined),
    value,
  );

/** Hashes everything about a tool by which a model or a person decides to call it. */
const hashTool = ({ _meta, icons, ...tool }: JsonObject) => canonicalHash(tool);

export function createMcpGate(options: McpGateOptions, ends: McpEnds) {
  const { service, tell, patienceSeconds = usualPatienceSeconds } = options;
  const runId = service.randomUuid();
  const ownPrefix = `countersign-${runId}-`;
  const memory = new GateMemory();
  /** The client's requests that were passed on: what becomes of their answers. */
  const passed = new Map<Id, (answer: McpMessage) => Promise<McpMessage> | McpMessage>();
  /** Requests of the gate's own, to either side. */
  const own = new Map<Id, (answer: McpMessage) => void>();
  const calls = new Map<Id, Call>();
  /** Keyed by states that the client sends back. */
  const rounds = new Map<string, Call>();
  const equal = new Map<string, Set<number>>();
  const working = new Map<Promise<void>, Call>();
  /** Requests of calls that were answered before anybody decided. */
  const undecided = new Set<string>();
  let made = 0;
  let opensLinks = false;

  const ask = (
    to: (message: McpMessage) => void,
    method: string,
    params: JsonObject,
    over?: AbortSignal,
  ): Promise<McpMessage> => {
    made += 1;
    const id = `${ownPrefix}${made}`;
    over?.addEventListener("abort", () => {
      if (own.delete(id)) to({ method: "notifications/cancelled", params: { requestId: id } });
    });
    return new Promise((resolve) => {
      own.set(id, resolve);
      to({ id, method, params });
    });
  };
  const takeOwn = (message: McpMessage): boolean => {
    const { id = "", method } = message;
    if (method !== undefined || !String(id).startsWith(ownPrefix)) return false;
    own.get(id)?.(message);
    own.delete(id);
    return true;
  };
  const isModern = (params: JsonObject) => readMember(params, "_meta", protocolKey) !== undefined;
  const answer = ({ id, params }: Pick<Call, "id" | "params">, result: JsonObject) =>
    ends.toClient({
      id,
      result: { ...(isModern(params) && { resultType: "complete" }), ...result },
    });
  const refuse = (call: Call, text: string) =>
    answer(call, { content: [{ type: "text", text }], isError: true });

  /* Tools in the server's current description. */

  async function findTool({ tool, params }: Call): Promise<JsonObject | null> {
    const _meta = Object.fromEntries(
      Object.entries((readMember(params, "_meta") as JsonObject | undefined) ?? {}).filter(([name]) =>
        name.startsWith("io.modelcontextprotocol/"),
      ),
    );
    let cursor: JsonValue | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const asked = {
        ...(Object.keys(_meta).length > 0 && { _meta }),
        ...(cursor !== undefined && { cursor }),
      };
      const { result } = await ask(ends.toServer, "tools/list", asked);
      const tools = readMember(result, "tools");
      const found = Array.isArray(tools)
        ? tools.filter(isJsonObject).find(({ name }) => name === tool)
        : undefined;
      if (found !== undefined) return found;
      cursor = readMember(result, "nextCursor");
      if (typeof cursor !== "string") return null;
    }
    return null;
  }

  /** Accepted when it is first seen. Null if the tool is the accepted one. */
  async function findChange(tool: JsonObject): Promise<string | null> {
    if (await options.isAccepted(tool, hashTool(tool))) return null;
    const name = String(tool["name"]);
    return `Blocked by Countersign: the server has changed the tool ${name} since it was accepted. Whoever runs the gate can read the change and accept it with --accept ${name}.`;
  }

  async function judgeList(message: McpMessage): Promise<McpMessage> {
    const tools = readMember(message.result, "tools");
    if (!Array.isArray(tools)) return message;
    const judged: JsonValue[] = [];
    for (const tool of tools) {
      const change = isJsonObject(tool) ? await findChange(tool) : null;
      if (change !== null) tell(`${toVisibleText(change)}\n`);
      // A description is read by the model: the new one must not reach it.
      judged.push(change === null || !isJsonObject(tool) ? tool : blockTool(tool, change));
    }
    return { ...message, result: { ...message.result, tools: judged } };
  }
  const blockTool = ({ name }: JsonObject, description: string): JsonObject => ({
    name: name ?? "",
    description,
    inputSchema: { type: "object" },
  });

  /* A call. */

  async function handleCall(call: Call): Promise<void> {
    const { tool, input } = call;
    const found = await untilAborted(findTool(call), call.ended.signal);
    if (call.isGone) return;
    // A server may run another spelling of a name, which no pattern and no accepted hash is of.
    if (found === null)
      return refuse(call, `Not run: the server lists no tool ${toVisibleText(JSON.stringify(tool))}.`);
    const change = await findChange(found);
    if (call.isGone) return;
    if (change !== null) return refuse(call, change);
    // Throws for what can't be recorded, such as half a character.
    const key = canonicalHash([tool, input]);
    if (!options.isAsked(tool, input)) return passRecorded(call);
    const others = equal.get(key) ?? new Set<number>();
    let number = 0;
    while (others.has(number)) number += 1;
    equal.set(key, others.add(number));
    try {
      await holdCall(call, {
        ...options.describe(tool, input, found["inputSchema"]),
        runId,
        callId: `equal-${number}`,
        signal: call.ended.signal,
      });
    } finally {
      others.delete(number);
    }
  }

  function passRecorded(call: Call): void {
    passed.set(call.id, async (message) => {
      const isOver = message.result?.["resultType"] !== "input_required";
      const outcome = message.error === undefined ? readOutcome(message.result) : "failed";
      if (isOver) await options.record(call.tool, call.input, outcome);
      return message;
    });
    ends.toServer({ id: call.id, method: "tools/call", params: call.params });
  }

  async function holdCall(call: Call, action: GatedAction): Promise<void> {
    const { input } = call;
    try {
      const { request } = await askOnce(service, action, input);
      undecided.delete(request.request_id);
      if (request.status === "pending") {
        const isDecided = await showAndWait(call, request);
        if (call.isGone) return;
        if (!isDecided) {
          undecided.add(request.request_id);
          return refuse(call, pendingText(request));
        }
      }
      const run = (copy: JsonObject) => runCall(call, copy);
      const { result, attestation, authorization } = await gate(
        service,
        memory,
        { ...action, wait: false },
        input,
        run,
      );
      const _meta = {
        ...((readMember(result, "_meta") as JsonObject | undefined) ?? {}),
        [receiptKey]: attestation.public_url,
      };
      answer(call, { ...result, ...describeChange(authorization, result), _meta });
    } catch (error) {
      if (error instanceof ServerError) return ends.toClient({ id: call.id, error: error.error });
      const why = error instanceof Error ? error.message : String(error);
      tell(`${toVisibleText(`${call.tool}: ${why}`)}\n`);
      if (!call.isGone)
        refuse(call, error instanceof NotApprovedError ? why : `Not run, or not attested: ${why}`);
    }
  }

  /** Tells the model with which arguments the tool ran. */
  function describeChange({ amends, context, environment }: ApprovedAuthorization, { content }: JsonObject) {
    if (!amends) return {};
    const who = environment === "production" ? "A human" : "A TEST approval";
    const text = `${who} changed the arguments. The tool ran with these: ${canonicalJson(context ?? {})}`;
    return { content: [{ type: "text", text }, ...(Array.isArray(content) ? content : [])] };
  }

  const pendingText = ({ approval_url, confirmation_code }: AuthorizationRequest) =>
    `Not run yet: a human has to approve it at ${approval_url} (code ${confirmation_code}). Show both to the user, and make exactly this call again once they have decided.`;

  /**
   * False if nobody decided while the client waits. A call that the client gives up is cancelled. A decision counts whatever
   * the client still shows: that is withdrawn, or, where its protocol can't, the client's next call finds the decision.
   */
  async function showAndWait(call: Call, request: AuthorizationRequest): Promise<boolean> {
    const { approval_url, confirmation_code, request_id } = request;
    const { signal } = call.ended;
    const message = `A human has to approve the tool ${toVisibleText(call.tool)}. Confirmation code: ${confirmation_code}`;
    tell(`${message}\n  ${approval_url}\n`);
    const url = { mode: "url", message, url: approval_url };
    const [stop, over] = [new AbortController(), new AbortController()];
    const token = readMember(call.params, "_meta", "progressToken");
    const declined = (reply: McpMessage) => {
      const action = readMember(reply.result, "action");
      if (action === "decline" || action === "cancel")
        call.ended.abort(new Error("The user declined to open the approval."));
    };
    const isModernLink =
      isModern(call.params) &&
      readMember(call.params, "_meta", capabilitiesKey, "elicitation", "url") !== undefined;
    const isLink = opensLinks && !isModern(call.params);
    const elicitationId = request_id;
    const sendProgress = async () => {
      for (let told = 1; ; told += 1) {
        await service.sleep(progressMs, over.signal);
        if (token !== undefined)
          ends.toClient({
            method: "notifications/progress",
            params: { progressToken: token, progress: told, message: `${message} ${approval_url}` },
          });
        else if (told * progressMs >= patienceSeconds * 1_000) return stop.abort();
      }
    };
    if (!isModernLink) sendProgress().catch(() => undefined);
    if (isModernLink) void offerRounds(call, url, over.signal, declined).then(() => stop.abort());
    else if (isLink)
      void ask(ends.toClient, "elicitation/create", { ...url, elicitationId }, over.signal).then(declined);
    try {
      await waitForAmended(service, request_id, { signal: AbortSignal.any([signal, stop.signal]) });
      return true;
    } catch (error) {
      if (stop.signal.aborted && !signal.aborted) return false;
      if (signal.aborted)
        await cancelLatest(service, request_id, AbortSignal.timeout(progressMs)).catch(() => undefined);
      throw error;
    } finally {
      const isDecided = !signal.aborted && !stop.signal.aborted;
      if (isLink && isDecided)
        ends.toClient({ method: "notifications/elicitation/complete", params: { elicitationId } });
      over.abort();
      if (call.round !== null) {
        rounds.delete(call.round.state);
        call.isGone = true;
      }
    }
  }

  /** The client of 2026 opens the link, and calls again: each time it is answered after a while. Resolves if nobody decides. */
  async function offerRounds(
    call: Call,
    url: JsonObject,
    over: AbortSignal,
    declined: (reply: McpMessage) => void,
  ) {
    let inputRequests: JsonObject = { countersign: { method: "elicitation/create", params: url } };
    for (let round = 0; round < maxRounds; round += 1) {
      const { params } = await nextRound(call, { inputRequests, requestState: service.randomUuid() });
      const response = readMember(params, "inputResponses", "countersign");
      if (response !== undefined && isJsonObject(response)) declined({ result: response });
      inputRequests = {};
      await service.sleep(patienceSeconds * 1_000, over).catch(() => undefined);
      if (over.aborted) return;
    }
  }

  function nextRound(call: Call, result: JsonObject & { requestState: string }): Promise<McpMessage> {
    const { id } = call;
    return new Promise((goOn) => {
      call.round = { state: result.requestState, goOn };
      rounds.set(result.requestState, call);
      ends.toClient({ id, result: { resultType: "input_required", ...result } });
    });
  }

  /** Runs until the server has ended: it may ask the client for more in between. */
  async function runCall(call: Call, copy: JsonObject): Promise<JsonObject> {
    const { requestState: _state, inputResponses: _responses, ...first } = call.params;
    let params: JsonObject = { ...first, arguments: copy };
    for (;;) {
      const answered = new Promise<McpMessage>((resolve) => {
        passed.set(call.id, (message) => {
          resolve(message);
          return message;
        });
        held.add(call.id);
        ends.toServer({ id: call.id, method: "tools/call", params });
      });
      // An aborted call may have done half of it.
      const { result, error } = await untilAborted(answered, call.ended.signal);
      if (error !== undefined) throw new ServerError(error);
      if (result?.["resultType"] !== "input_required") return result ?? {};
      // Two calls may have the same state of the server.
      const next = nextRound(call, { ...result, requestState: service.randomUuid() });
      const { inputResponses } = (await untilAborted(next, call.ended.signal)).params ?? {};
      const { requestState } = result;
      params = {
        ...first,
        arguments: copy,
        ...(inputResponses !== undefined && { inputResponses }),
        ...(requestState !== undefined && { requestState }),
      };
    }
  }
  /** Ids whose answers the gate gives itself. */
  const held = new Set<Id>();

  function readCall(message: McpMessage): void {
    const { id = "", params = {} } = message;
    const { name: tool, arguments: input = {} } = params;
    if (typeof tool !== "string" || !isJsonObject(input)) {
      const error = { code: -32_602, message: "a tool's name is a text, and its arguments are an object" };
      ends.toClient({ id, error });
      return;
    }
    const state = String(params["requestState"]);
    const begun = rounds.get(state);
    if (begun !== undefined) {
      const { id: former, round } = begun;
      rounds.delete(state);
      calls.delete(former);
      calls.set(id, Object.assign(begun, { id, round: null }));
      if (canonicalHash([tool, input]) === canonicalHash([begun.tool, begun.input])) round?.goOn(message);
      else begun.ended.abort(new Error("The arguments are not those of the first call."));
      return;
    }
    const call: Call = {
      id,
      params,
      tool,
      input,
      ended: new AbortController(),
      isGone: false,
      round: null,
    };
    calls.set(id, call);
    const work = handleCall(call)
      .catch((error: unknown) => {
        if (!call.isGone) refuse(call, `Not run: ${error instanceof Error ? error.message : error}`);
      })
      .finally(() => {
        calls.delete(call.id);
        working.delete(work);
      });
    working.set(work, call);
  }

  return {
    fromClient(message: McpMessage): void {
      const { id, method, params = {} } = message;
      if (takeOwn(message)) return;
      if (method === "initialize")
        opensLinks = readMember(params, "capabilities", "elicitation", "url") !== undefined;
      if (method === "tools/call" && id !== undefined) return void readCall(message);
      // Refuses what some server may run without anybody getting the answer.
      if (method === "tools/call")
        return void tell("Not passed on: a call of a tool that asks for no answer.\n");
      if (method !== undefined && id !== undefined)
        passed.set(id, method === "tools/list" ? judgeList : (message) => message);
      if (method === "notifications/cancelled") {
        const call = calls.get(params["requestId"] as Id);
        if (call !== undefined) call.isGone = true;
        call?.ended.abort(new Error("The client cancelled the call."));
        // The server never saw a call that is held.
        if (call !== undefined && !passed.has(call.id)) return;
      }
      ends.toServer(message);
    },
    async fromServer(message: McpMessage): Promise<void> {
      const { id, method } = message;
      if (method !== undefined || id === undefined) return ends.toClient(message);
      if (takeOwn(message)) return;
      const judge = passed.get(id);
      passed.delete(id);
      // The SDKs' clients take "1" for 1: such an answer would reach them past the judging of its request.
      if (judge === undefined) return tell("Not passed on: an answer to nothing that was asked.\n");
      const judged = await judge(message);
      if (!held.delete(id)) ends.toClient(judged);
    },
    /** The client has gone: what it waits for, or would ask for again, can't run any more. Resolves when that is cancelled and attested. */
    async close(): Promise<void> {
      for (const call of working.values()) {
        call.isGone = true;
        call.ended.abort(new Error("The client has gone."));
      }
      const limit = AbortSignal.timeout(progressMs);
      const cancelled = [...undecided].map((id) => cancelLatest(service, id, limit));
      await Promise.allSettled([...working.keys(), ...cancelled]);
    },
  };
}
