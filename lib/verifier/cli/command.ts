/** `node verify.mjs`. Bundled into dist/verify.mjs. */
import "#lib/platform/node-wasm";
import { endIfUnread, nodeIo, readProgramAt } from "./node-io";
import { readInNodeThreads, servesEntries } from "./node-threads";
import { runCommand } from "./run-command";

const { url } = import.meta;

if (!servesEntries()) {
  endIfUnread();
  const io = { ...nodeIo, readProgram: readProgramAt(url), openReaders: readInNodeThreads(url) };
  process.exitCode = await runCommand(process.argv.slice(2), io);
}
