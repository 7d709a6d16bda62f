/** `node verify.mjs`. Bundled into dist/verify.mjs. */
import { nodeIo } from "./node-io";
import { runCommand } from "./run-command";

process.exitCode = await runCommand(process.argv.slice(2), nodeIo);
