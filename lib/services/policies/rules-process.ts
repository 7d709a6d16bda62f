/** The program of the processes that run Cedar (dist/rules-process.mjs, started by ./engine.ts). */
import "#lib/platform/node-wasm";
import { createEvaluator, type RulesTask } from "./engine";

const evaluate = createEvaluator();

// A terminal and a service manager signal all processes at once; this one ends with the server's.
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));
process.on("message", (task: RulesTask) => process.send?.(evaluate(task)));
