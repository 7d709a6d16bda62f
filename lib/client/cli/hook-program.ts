/** The hook alone, without the rest of the command line. Bundled into dist/countersign-hook.mjs; relay.ts starts it. */
import { runSpec } from "#lib/client/cli/spec";
import { endIfUnread, nodeIo } from "#lib/verifier/cli/node-io";
import { fetchThroughProxy } from "#platform/fetch";
import { hookSpec } from "./hook";
import type { ClientIo } from "./io";
import { fetchLightly, serve } from "./node-helper";
import { nodeMachine } from "./node-machine";

/** `stdin`: null if it is not read yet. `program`: the file that the agent runs. */
export function run(argv: readonly string[], stdin: Uint8Array | null, program: string): Promise<number> {
  endIfUnread();
  const io: ClientIo = {
    ...nodeIo,
    readStdin: stdin === null ? nodeIo.readStdin : async () => stdin,
    fetch: (url, init) => fetchThroughProxy(url, init) ?? fetchLightly(String(url), init),
    apiKey: nodeIo.apiKey || undefined,
    // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
    serviceUrl: process.env["COUNTERSIGN_URL"] || undefined,
    runtime: undefined,
    openReceiver: () => Promise.reject(new Error("countersign.mjs listens for webhooks")),
    machine: { ...nodeMachine(import.meta.url), programPath: program },
    inBackground: undefined,
    serve,
    openMcp: () => Promise.reject(new Error("countersign.mjs has the gate")),
    hookPrograms: {},
  };
  return runSpec(io, hookSpec, argv);
}
