/**
 * postgres 3.4.9 writes to a connection's socket from a setImmediate callback. If the connection was closed in between,
 * that throws where nobody can catch it, and takes the process with it (porsager/postgres#1154, #1208). The guard that
 * is proposed there, put into the installed package: the query is rejected as one whose connection closed.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
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

const files = ["src", "cjs/src"].map((folder) => `${root}/node_modules/postgres/${folder}/connection.js`);

export function isPostgresPatched() {
  return files.every((file) => existsSync(file) && readFileSync(file, "utf8").includes(guarded));
}

/** Changes nothing if it was done before. Throws if the package is another than this was made for. */
export function patchPostgres() {
  for (const file of files) {
    const source = readFileSync(file, "utf8");
    if (source.includes(guarded)) continue;
    if (source.split(unguarded).length !== 2)
      throw new Error(`${file} is another than the one that .ci/patch-postgres.mjs was made for`);
    writeFileSync(
      file,
      source.replace(unguarded, () => guarded),
    );
  }
}
