/**
 * postgres 3.4.9 writes to a connection's socket from a setImmediate callback. Where the connection was closed in
 * between, that throws where nobody can catch it, and takes the process with it (porsager/postgres#1154, #1208). The
 * guard that is proposed there, put into the installed package: the query is rejected as one whose connection closed.
 */
import { isPatched, patch } from "./patch.mjs";
import { root } from "./step.mjs";

const unguarded = `  function nextWrite(fn) {
    const x = socket.write(chunk, fn)`;
const guarded = `  function nextWrite(fn) {
    if (!socket) {
      clearImmediate(nextWriteTimer)
      chunk = nextWriteTimer = null
      error(Errors.connection('CONNECTION_CLOSED', options, socket))
      return false
    }
    const x = socket.write(chunk, fn)`;

const edits = ["src", "cjs/src"].map((folder) => ({
  file: `${root}/node_modules/postgres/${folder}/connection.js`,
  from: unguarded,
  to: guarded,
}));

export const isPostgresPatched = () => isPatched(edits);

export const patchPostgres = () => patch(edits, ".ci/patch-postgres.mjs");
