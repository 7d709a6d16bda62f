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
import { existsSync, readFileSync, writeFileSync } from "node:fs";
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

const files = ["src", "cjs/src"].map((folder) => `${root}/node_modules/postgres/${folder}/connection.js`);

const read = (file) => readFileSync(file, "utf8");

export function isPostgresPatched() {
  return files.every((file) => existsSync(file) && patches.every(({ to }) => read(file).includes(to)));
}

/** Changes nothing if it was done before. Throws if the package is another than this was made for. */
export function patchPostgres() {
  for (const file of files) {
    for (const { from, to } of patches) {
      const source = read(file);
      if (source.includes(to)) continue;
      if (source.split(from).length !== 2)
        throw new Error(`${file} is another than the one that .ci/patch-postgres.mjs was made for`);
      writeFileSync(
        file,
        source.replace(from, () => to),
      );
    }
  }
}
