/**
 * A row whose bytes are what the schema says they are. The driver of PostgreSQL gives Buffers, whose slices share their
 * memory.
 */
export function withPlainBytes<Row extends object>(row: Row): Row {
  const plain = Object.entries(row).map(([name, value]: [string, unknown]) => [
    name,
    value instanceof Uint8Array ? new Uint8Array(value) : value,
  ]);
  return Object.fromEntries(plain) as Row;
}
