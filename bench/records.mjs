/** Table of the baselines: one row for each record. */
export const createRecords =
  "CREATE TABLE records (id uuid PRIMARY KEY, payload bytea NOT NULL, signature bytea NOT NULL, created_at timestamptz NOT NULL)";
