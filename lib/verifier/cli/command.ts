/** `node verify.mjs`. Bundled into dist/verify.mjs. */
import "#lib/platform/node-wasm";
import { endIfUnread, nodeIo, readProgramAt } from "./node-io";
import { runCommand } from "./run-command";

endIfUnread();
const readProgram = readProgramAt(import.meta.url);

process.exitCode = await runCommand(process.argv.slice(2), { ...nodeIo, readProgram });
