/** `countersign mcp gate`: in front of any MCP server, started as a command or reached over HTTP. */

import { CountersignError } from "#lib/client/api/errors";
import { createMcpGate, type McpMessage } from "#lib/client/gate/mcp-gate";
import { listAmendable } from "#lib/client/hook/call";
import { needsHuman } from "#lib/client/hook/dialects";
import { keepRecord, openSpool, readTrouble, sendRecords } from "#lib/client/hook/record";
import { describeRecord, readAgent, readReach } from "#lib/client/hook/recorded-call";
import {
  canonicalHash,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { mcpServerName } from "#lib/protocol/record/title";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { maskSecrets } from "#lib/protocol/text/mask-secrets";
import { readVisibility } from "./attest";
import { type Command, connect, type McpServerAddress, readAgentKey, readText, requireKey } from "./io";
import type { CommandSpec } from "./spec";

const maxShown = 200;
const forOneself = { file: 0o600, folder: 0o700 };
const sendMs = 60_000;

export const mcpSpec: CommandSpec = {
  run: runMcp,
  options: [
    ...([
      "agent",
      "ask",
      "match",
      "record",
      "key-file",
      "header",
      "accept",
      "yes",
      "requester",
      "amendable",
    ] as const),
    ...(["public", "private", "agent-key", "code-hash", "model-id"] as const),
  ],
};

async function runMcp(command: Command): Promise<void> {
  const [what, ...words] = command.words;
  if (what !== "gate") throw new UsageError("expected mcp gate");
  const address = readAddress(command, words);
  if ((words.length === 0) === (address.url === undefined))
    throw new UsageError(
      "expected -- and the server's command, or --url and its address; COUNTERSIGN_URL names the service",
    );
  const pins = openPins(command, address);
  const { accept } = command.line.values;
  return accept === undefined ? runGate(command, address, pins) : pins.accept(accept);
}

function readAddress({ line }: Command, command: readonly string[]): McpServerAddress {
  const url = single(line, "url");
  const headers = (line.values.header ?? []).map((header) => {
    const [, name, value] = /^([\w-]+):\s*(.+)$/s.exec(header) ?? [];
    if (name === undefined || value === undefined) throw new UsageError("--header: expected Name: value");
    return [name, value] as const;
  });
  return { command, url, headers: Object.fromEntries(headers) };
}

/** Accepted tools of a server, for an agent; as they were seen last, and which of that somebody was shown. */
function openPins(command: Command, address: McpServerAddress) {
  const { io } = command;
  const { machine } = io;
  const name = canonicalHash([readAgent(command).toLowerCase(), [...address.command], address.url ?? null]);
  const file = `${machine.home}/.countersign/mcp/${name.slice(0, 32)}.json`;
  type Pins = Record<string, { accepted: string; seen?: { hash: string; tool: JsonObject }; shown?: string }>;
  const read = async (): Promise<Pins> =>
    (await io.isFile(file)) ? (JSON.parse(await readText(io, file)) as Pins) : {};
  const write = (pins: Pins) => machine.writeFile(file, JSON.stringify(pins, null, 2), forOneself);
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  };
  return {
    isAccepted: (tool: JsonObject, hash: string) =>
      inTurn(async () => {
        const [own, pins] = [String(tool["name"]), await read()];
        const pin = Object.hasOwn(pins, own) ? pins[own] : undefined;
        if (pin?.accepted === hash) return true;
        if (pin?.seen?.hash !== hash)
          await write({
            ...pins,
            [own]: pin === undefined ? { accepted: hash } : { ...pin, seen: { hash, tool } },
          });
        return pin === undefined;
      }),
    /** Accepts what was shown before, and shows anything else. */
    accept: async (names: readonly string[]) => {
      const [pins, shown] = [await read(), new Set<string>()];
      for (const own of names) {
        const pin = Object.hasOwn(pins, own) ? pins[own] : undefined;
        if (pin?.seen === undefined) throw new UsageError(`the gate has seen no change of the tool ${own}`);
        const { hash, tool } = pin.seen;
        if (command.line.flags.has("yes") && pin.shown === hash) pins[own] = { accepted: hash };
        else {
          io.print(`${toVisibleText(JSON.stringify(tool, null, 2))}\n`);
          pins[own] = { ...pin, shown: hash };
          shown.add(own);
        }
      }
      await write(pins);
      const accepted = names.filter((own) => !shown.has(own));
      if (accepted.length > 0) io.print(`Accepted: ${accepted.map(toVisibleText).join(", ")}\n`);
      if (shown.size > 0)
        io.print(
          `Not accepted yet: ${[...shown].map(toVisibleText).join(", ")}. To accept what you read, add --yes.\n`,
        );
    },
  };
}

async function runGate(
  command: Command,
  address: McpServerAddress,
  pins: ReturnType<typeof openPins>,
): Promise<void> {
  const { io, line } = command;
  const agent_slug = readAgent(command);
  const keyFile = single(line, "key-file");
  const apiKey = keyFile === undefined ? io.apiKey : (await readText(io, keyFile)).trim() || undefined;
  const withKey = { ...command, io: { ...io, apiKey } };
  requireKey(withKey);
  const service = connect(withKey, null);
  const agentKey = await readAgentKey(command);
  const reach = readReach(command, null);
  const sessionId = service.randomUuid();
  const spool = openSpool(io, service.baseUrl, agent_slug);
  const server = maskSecrets(address.url ?? address.command.join(" ")).slice(0, maxShown);
  const ends = await io.openMcp(address);
  /** Approved are the arguments alone where they may be changed: the server is in the attestation. */
  function describeChangeable(input: JsonObject, schema: JsonValue | undefined) {
    const amendable = isJsonObject(schema ?? null) ? listAmendable(line.values.amendable ?? [], input) : [];
    if (amendable.length === 0) return { context: { [mcpServerName]: server } };
    return { amendable, schema: (value: unknown) => ends.requireValid(schema as JsonObject, value) };
  }
  const gate = createMcpGate(
    {
      service,
      isAccepted: pins.isAccepted,
      isAsked: (tool, input) => needsHuman(reach.ask, tool, input),
      describe: (tool, input, schema) => ({
        agent_slug,
        action: `Use the tool ${tool}`,
        tool,
        ...describeChangeable(input, schema),
        require_code: true,
        requester: single(line, "requester"),
        attestation: { ...describeWhatRan(command, tool), metadata: { server } },
        agentKey,
      }),
      record: async (tool, input, outcome) => {
        if (reach.record.length === 0 || !needsHuman(reach.record, tool, input)) return;
        const call = {
          tool,
          input,
          outcome,
          sessionId,
          callId: undefined,
          folder: undefined,
          isSubagent: false,
        };
        const at = service.now().toISOString();
        if (!(await keepRecord(spool, describeRecord(command, call, agent_slug, at))))
          io.tell(`${toVisibleText(tool)}: not recorded\n`);
        void send();
      },
      tell: io.tell,
    },
    {
      toClient: (message) => void ends.client.send({ jsonrpc: "2.0", ...message } as never).catch(report),
      toServer: (message) =>
        void ends.server.send({ jsonrpc: "2.0", ...message } as never).catch((error: Error) => {
          report(error);
          if (message.id === undefined || message.method === undefined) return;
          const failure = { code: -32_603, message: `the server can't be reached: ${error.message}` };
          void gate.fromServer({ id: message.id, error: failure }).catch(report);
        }),
    },
  );
  const report = (error: Error) => io.tell(`countersign: ${toVisibleText(error.message)}\n`);
  const send = () =>
    sendRecords(spool, { service, agentKey, signal: AbortSignal.timeout(sendMs) }).then(async () => {
      const trouble = await readTrouble(spool);
      if (trouble !== null) io.tell(`${toVisibleText(trouble)}\n`);
    }, report);
  const ended = new Promise<"client" | "server">((resolve) => {
    ends.client.onclose = () => resolve("client");
    ends.server.onclose = () => resolve("server");
    io.machine.listenForEnd().addEventListener("abort", () => resolve("client"));
  });
  ends.client.onerror = report;
  ends.server.onerror = report;
  ends.client.onmessage = (message: McpMessage) => gate.fromClient(message);
  ends.server.onmessage = (message: McpMessage) => {
    const version = message.result?.["protocolVersion"];
    if (typeof version === "string") ends.server.setProtocolVersion?.(version);
    gate.fromServer(message).catch(report);
  };
  await ends.server.start();
  await ends.client.start();
  const who = await ended;
  await gate.close();
  await send();
  await Promise.allSettled([ends.client.close(), ends.server.close()]);
  if (who === "server") throw new CountersignError("the MCP server has ended");
}

function describeWhatRan(command: Command, tool: string) {
  const { line } = command;
  return {
    tools_used: [tool],
    is_public: readVisibility(command),
    code_hash: single(line, "code-hash"),
    model_id: single(line, "model-id"),
  };
}
