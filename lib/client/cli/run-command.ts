/** The command line without its process: arguments → exit code. */

import { runDoctor } from "#lib/client/hook/doctor";
import { UsageError } from "#lib/protocol/text/command-words";
import { runCommand as runVerifier } from "#lib/verifier/cli/run-command";
import {
  runAgent,
  runAnswer,
  runCancel,
  runClaim,
  runFreeze,
  runKeys,
  runRevoke,
  runUnfreeze,
  runWebhooks,
} from "./account";
import { runAttest, runAuthorize } from "./attest";
import { hookSpec } from "./hook";
import { type ClientIo, usage } from "./io";
import { mcpSpec } from "./mcp";
import { rulesSpec } from "./rules";
import { type CommandSpec, exitCodes, runSpec } from "./spec";

const what = ["inputs", "inputs-hash", "idempotency-key"] as const;
const ran = ["code-hash", "model-id", "tool", "agent-key"] as const;
const commands: Record<string, CommandSpec> = {
  attest: {
    run: runAttest,
    options: [
      ...what,
      ...ran,
      ...(["metadata", "public", "private", "zk", "authorization", "ndjson", "all-or-nothing"] as const),
    ],
  },
  authorize: {
    run: runAuthorize,
    options: [
      ...what,
      ...([
        "context",
        "expires-in",
        "level",
        "approvals",
        "approver",
        "required-approvers",
        "usable-for",
        "amount",
        "amendable",
        "tool",
        "requester",
        "require-code",
        "wait",
        "output",
      ] as const),
    ],
  },
  claim: { run: runClaim, options: ["run"] },
  answer: { run: runAnswer, options: ["number"] },
  cancel: { run: runCancel, options: [] },
  revoke: { run: runRevoke, options: ["reason"] },
  freeze: { run: runFreeze, options: ["reason"] },
  unfreeze: { run: runUnfreeze, options: ["reason"] },
  hook: hookSpec,
  mcp: mcpSpec,
  rules: rulesSpec,
  doctor: { run: runDoctor, options: [], failureCode: exitCodes.refused },
  keys: { run: runKeys, options: ["name"] },
  webhooks: { run: runWebhooks, options: ["event", "count"] },
  agent: { run: runAgent, options: [...ran, "name", "description", "public-key"] },
};

export async function runCommand(argv: readonly string[], io: ClientIo): Promise<number> {
  const [name = "", ...rest] = argv;
  if (name === "verify") return runVerifier(addBase(rest, io.serviceUrl), io, "countersign verify");
  if (argv.includes("--help") || name === "help") {
    io.print(describeUsage(name === "help" ? rest[0] : name));
    return exitCodes.done;
  }
  const spec = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (spec !== undefined) return runSpec(io, spec, rest);
  return runSpec(io, unknown(name), []);
}

/** The lines and sections of one command, with what is said of all; everything if it isn't one. */
function describeUsage(name = ""): string {
  const [calls = "", ...sections] = usage.split("\n\n");
  const own = calls.split("\n").filter((line) => line.split(/[ :]+/).includes(name));
  if (!Object.hasOwn(commands, name) || own.length === 0) return usage;
  const isOwn = (section: string) => {
    const [head = ""] = section.split(/ {2}|\n/);
    return /^(?:Environment|For every|Exit)/.test(head) || head.split(/,? /).includes(name);
  };
  return [`usage: ${own.map((line) => line.slice(7)).join("\n       ")}`, ...sections.filter(isOwn)].join(
    "\n\n",
  );
}

/** The usage error of a command that isn't there. */
const unknown = (name: string): CommandSpec => ({
  options: [],
  run: async () => {
    throw new UsageError(name === "" ? "which command?" : `unknown command ${name}`);
  },
});

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A bare id is one of the service that the environment names, if nothing else is said. */
function addBase(argv: readonly string[], serviceUrl: string | undefined): readonly string[] {
  const isGiven = argv.some((word) => /^--base(?:=|$)/.test(word));
  return serviceUrl === undefined || isGiven || !argv.some((word) => uuid.test(word))
    ? argv
    : ["--base", serviceUrl, ...argv];
}
