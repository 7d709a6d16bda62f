/**
 * postgres 3.4.9 keeps messages for the server in `chunk` and writes them from a setImmediate callback. If the
 * connection closes in between:
 * - the callback throws where nobody can catch it, and takes the process with it (porsager/postgres#1154, #1208). The
 *   guard that is proposed there rejects the query as one whose connection closed;
 * - or the callback is cancelled, but counts as set, so that after the reconnect nothing below a kilobyte is ever
 *   written, and its queries never end. So what belonged to the closed connection is forgotten with it.
 * A query that is sent after the socket's error and before its close (a transaction's ROLLBACK is) would never end
 * either, because a close that follows an error rejects nothing. Here it does.
 */
import { isPatched, patch } from "./patch.mjs";
import { root } from "./step.mjs";

const patches = [
  {
    from: `  function nextWrite(fn) {
    const x = socket.write(chunk, fn)`,
    to: `  function nextWrite(fn) {
    if (!socket) {
      clearImmediate(nextWriteTimer)
      chunk = nextWriteTimer = null
      error(Errors.connection('CONNECTION_CLOSED', options, socket))
      return false
    }
    const x = socket.write(chunk, fn)`,
  },
  {
    from: `    incomings = null
    clearImmediate(nextWriteTimer)
    socket.removeListener('data', data)`,
    to: `    incomings = null
    clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
    socket.removeListener('data', data)`,
  },
  {
    from: `    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))`,
    to: `    if (query || sent.length) error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = null`,
  },
];

const edits = ["src", "cjs/src"].flatMap((folder) =>
  patches.map((one) => ({ file: `${root}/node_modules/postgres/${folder}/connection.js`, ...one })),
);

export const isPostgresPatched = () => isPatched(edits);

export const patchPostgres = () => patch(edits, ".ci/patch-postgres.mjs");
