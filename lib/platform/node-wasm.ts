/**
 * Keeps V8 from inlining calls of WebAssembly into optimized JavaScript: in Node 20 such a call has ended the whole process
 * ("Fatal error, unreachable code"). The first import of each program; the flag counts for all threads of a process.
 */
import { setFlagsFromString } from "node:v8";

setFlagsFromString("--no-turbo-inline-js-wasm-calls");
