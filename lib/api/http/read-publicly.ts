/** Serves public reads, without a key or session, from the replica, if there is one. */
import type { HttpContext } from "./context";
import type { Principal } from "./principal";

/** Falls back to the primary if the replica misses the row or fails: a new record is there, or nowhere. */
export async function readPublicly<Context extends HttpContext, Value>(
  context: Context,
  read: (context: Context) => Promise<Value>,
): Promise<Value> {
  const database = context.replica?.fresh() ?? null;
  if (database === null) return read(context);
  return read({ ...context, database }).catch(() => read(context));
}

/** A client that authenticates finds what it has just written. */
export const readFor = <Context extends HttpContext, Value>(
  viewer: Principal | null,
  context: Context,
  read: (context: Context) => Promise<Value>,
): Promise<Value> => (viewer === null ? readPublicly(context, read) : read(context));
