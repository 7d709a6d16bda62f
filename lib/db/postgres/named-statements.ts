/**
 * Named statements (PostgreSQL's extended query protocol): the server parses a text once per connection and may keep
 * its plan, and the driver sends it in one round trip. Unnamed, as drizzle sends them, each costs two: the driver waits
 * for the description before it binds.
 */
import type postgres from "postgres";

type Scope = Pick<postgres.Sql, "unsafe"> & Partial<Pick<postgres.TransactionSql, "savepoint">>;
type Work = (scope: Scope) => unknown;

/** The service sends few texts, again and again; lists of every length are many, and stay unnamed. */
const maxNamed = 500;

/** True for the first texts that come, and for those again. Several statements in one text cannot have a name. */
export function createNaming(limit = maxNamed): (text: string) => boolean {
  const named = new Set<string>();
  return (text) => {
    if (named.has(text)) return true;
    if (named.size >= limit || text.includes(";")) return false;
    named.add(text);
    return true;
  };
}

/** The client, or a transaction of it, whose `unsafe` names statements. */
export function nameStatements<Client extends object>(
  client: Client,
  isNamed: (text: string) => boolean,
): Client {
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== "function") return member;
      if (name === "unsafe")
        return (text: string, values?: unknown[], options?: object) =>
          member.call(
            target,
            text,
            values,
            isNamed(text) ? { ...options, prepare: true, simple: false } : options,
          );
      if (name === "begin" || name === "savepoint")
        return (...given: unknown[]) => {
          const work = given.at(-1) as Work;
          return member.call(target, ...given.slice(0, -1), (scope: Scope) =>
            work(nameStatements(scope, isNamed)),
          );
        };
      return member;
    },
  });
}
