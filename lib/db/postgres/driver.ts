/** The driver on an operator's address, with libpq's parameters as it takes them (#lib/database-address.ts). */
import postgres from "postgres";
import { readDatabaseAddress } from "#lib/database-address";

export function openDriver<Types extends Record<string, postgres.PostgresType>>(
  address: string,
  options: postgres.Options<Types> = {},
): postgres.Sql {
  const { url, options: own } = readDatabaseAddress(address);
  const connection = { ...options.connection, ...own.connection };
  return postgres(url, { ...options, ...own, connection } as postgres.Options<Types>) as postgres.Sql;
}
