/** `countersign`. Bundled into dist/countersign.mjs. */
import "#lib/platform/node-wasm";
import { endIfUnread, nodeIo } from "#lib/verifier/cli/node-io";
import { fetchThroughProxy } from "#platform/fetch";
import { serve } from "./node-helper";
import { nodeMachine } from "./node-machine";
import { openReceiver } from "./node-receiver";
import { runCommand } from "./run-command";

/** Defined by the bundler. */
declare const HOOK_PROGRAMS: Readonly<Record<string, string>>;

endIfUnread();
process.exitCode = await runCommand(process.argv.slice(2), {
  ...nodeIo,
  fetch: (url, init) => fetchThroughProxy(url, init) ?? fetch(url, init),
  tell: (text) => process.stderr.write(text),
  // A variable that is empty is not set.
  apiKey: nodeIo.apiKey || undefined,
  // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
  serviceUrl: process.env["COUNTERSIGN_URL"] || undefined,
  runtime: undefined,
  openReceiver,
  machine: nodeMachine(import.meta.url),
  inBackground: undefined,
  serve,
  // Large, and needed by one command.
  openMcp: async (address) => (await import("./node-mcp")).openMcp(address),
  hookPrograms: HOOK_PROGRAMS,
});
