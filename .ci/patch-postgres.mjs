/**
 * postgres 3.4.9 keeps messages for the server in `chunk` and writes them from a setImmediate callback. If the
 * connection closes in between:
 * - the callback throws where nobody can catch it, and takes the process with it (porsager/postgres#1154, #1208). The
 *   guard that is proposed there rejects the query as one whose connection closed;
 * - or the callback is cancelled, but counts as set, so that after the reconnect nothing below a kilobyte is ever
 *   written, and its queries never end. So what belonged to the closed connection is forgotten with it.
 * A query that is sent after the socket's error and before its close (a transaction's ROLLBACK is) would never end
 * either, because a close that follows an error rejects nothing. Here it does.
 *
 * A transaction whose connection closes is rejected, but its callback goes on, and what it asks then runs on the session
 * that the connection has next, which may be somebody's: beside a transaction, or in it, or its COMMIT and ROLLBACK in
 * their place; or it takes the answer that belongs to another (porsager/postgres#1216, #1204, #1186). Here a transaction
 * knows that its connection is lost, and asks nothing any more. And what is half heard when a connection closes (rows,
 * an error, the driver's own first query) is forgotten, so that nobody takes it for the answer on the next one.
 *
 * Rows are counted, and an error in the midst of them left the count as it was: the next answer on the connection began
 * with so many holes, and whoever looked at its first row saw that there is none. Here the count begins again. And a
 * statement whose parameters cannot be written was left in the line of those that were sent, if others were under way: it
 * then took the next one's answer, and that one the answer after it. Here it leaves the line.
 *
 * A server that takes a connection and closes it at once (a proxy that has none behind it) was tried again without a
 * pause, by a whole processor. Here it is tried as one that refuses.
 *
 * And it asks for all results as text, so bytes come as hex, at twice their length. Once a named statement's columns are
 * known, it asks for bytes as they are (PostgreSQL's protocol, message Bind: result-column format codes). Bytes are plain
 * arrays: slices of a Buffer share its memory.
 */
import { isPatched, patch } from "./patch.mjs";
import { root } from "./step.mjs";

const plain = "function plain(x) { return new Uint8Array(x.buffer, x.byteOffset, x.length) }";

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
    from: `    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))`,
    to: `    if (initial) {
      forget()
      options.shared.retries++
      waitLonger()
      return reconnect()
    }

    if (query || sent.length) error(Errors.connection('CONNECTION_CLOSED', options, socket))
    forget()`,
  },
  {
    from: `    closedTime = performance.now()
    hadError && options.shared.retries++
    delay = (typeof backoff === 'function' ? backoff(options.shared.retries) : backoff) * 1000
`,
    to: `    hadError && options.shared.retries++
    waitLonger()
`,
  },
  {
    from: `  /* Handlers */`,
    to: `  function forget() {
    query = results = errorResponse = null
    result = new Result()
  }

  function waitLonger() {
    closedTime = performance.now()
    delay = (typeof backoff === 'function' ? backoff(options.shared.retries) : backoff) * 1000
  }

  /* Handlers */`,
  },
  {
    from: `    result = new Result()
    connectTimer.cancel()`,
    to: `    result = new Result()
    rows = 0
    connectTimer.cancel()`,
  },
  {
    from: `  async function closed(hadError) {
`,
    to: `  async function closed(hadError) {
    rows = 0
`,
  },
  {
    from: `      sent.length === 0 && write(Sync)
      errored(error)
      return true`,
    to: `      if (query === q) {
        write(Sync)
        errored(error)
      } else {
        sent.remove(q)
        queryError(q, error)
      }
      return true`,
  },
  {
    from: `        return fetchArrayTypes()`,
    to: `        return fetchArrayTypes().catch(() => {})`,
  },
  {
    from: `      Bind(q.parameters, q.statement.types, q.statement.name, q.cursorName),`,
    to: `      Bind(q.parameters, q.statement.types, q.statement.name, q.cursorName, resultFormats(q)),`,
  },
  {
    from: `  function unnamed(q) {`,
    to: `  ${plain}

  function resultFormats(q) {
    const s = q.statement
    if (!s.columns || q.isRaw === true) return q.formats = []
    if (!s.formats) s.formats = s.columns.some(x => x.type === 17) ? s.columns.map(x => x.type === 17 ? 1 : 0) : []
    return q.formats = s.formats
  }

  function unnamed(q) {`,
  },
  {
    from: `  function Bind(parameters, types, statement = '', portal = '') {`,
    to: `  function Bind(parameters, types, statement = '', portal = '', formats = []) {`,
  },
  {
    from: `    b.i16(0)

    return b.end()`,
    to: `    b.i16(formats.length)
    formats.forEach(x => b.i16(x))

    return b.end()`,
  },
  {
    from: `          : column.parser === undefined
            ? x.toString('utf8', index, index += length)`,
    to: `          : query.formats && query.formats[i] === 1
            ? plain(Buffer.from(x.subarray(index, index += length)))
          : column.parser === undefined
            ? x.toString('utf8', index, index += length)`,
  },
];

const transactionPatches = [
  {
    from: `      , connection
      , prepare = null`,
    to: `      , connection
      , lost = null
      , prepare = null`,
  },
  {
    from: `        new Promise((_, reject) => connection.onclose = reject)`,
    to: `        new Promise((_, reject) => connection.onclose = e => {
          lost = e
          while (queries.length)
            queries.shift().reject(e)
          reject(e)
        })`,
  },
  {
    from: `        q.catch(e => uncaughtError || (uncaughtError = e))
        c.queue === full`,
    to: `        q.catch(e => uncaughtError || (uncaughtError = e))
        if (lost)
          return q.reject(lost)
        c.queue === full`,
  },
];

const typePatches = [
  {
    from: `    parse: x => Buffer.from(x.slice(2), 'hex')`,
    to: `    parse: x => (${plain})(Buffer.from(x.slice(2), 'hex'))`,
  },
];

const inFolder = (folder, file, list) =>
  list.map((one) => ({ file: `${root}/node_modules/postgres/${folder}/${file}`, ...one }));

const edits = ["src", "cjs/src"].flatMap((folder) => [
  ...inFolder(folder, "connection.js", patches),
  ...inFolder(folder, "index.js", transactionPatches),
  ...inFolder(folder, "types.js", typePatches),
]);

export const isPostgresPatched = () => isPatched(edits);

export const patchPostgres = () => patch(edits, ".ci/patch-postgres.mjs");
