/**
 * Makes the bytes of a row that was just read what the schema says they are. The driver of PostgreSQL gives Buffers,
 * whose slices share their memory; a plain view of the same bytes has slices of its own.
 */
export function withPlainBytes<Row extends object>(row: Row): Row {
  for (const [name, value] of Object.entries(row))
    if (value instanceof Uint8Array)
      (row as Record<string, unknown>)[name] = new Uint8Array(value.buffer, value.byteOffset, value.length);
  return row;
}
