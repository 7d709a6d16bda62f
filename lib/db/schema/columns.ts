/** Columns of one kind in many tables. */
import { bigint, customType, text, timestamp } from "drizzle-orm/pg-core";

export const bytea = customType<{ data: Uint8Array; driverData: Uint8Array }>({
  dataType: () => "bytea",
  fromDriver: (value) => new Uint8Array(value),
});
export const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: "date" });
export const createdAt = () => at("created_at").notNull().defaultNow();
export const leafIndex = (name: string) => bigint(name, { mode: "number" });
export const role = () => text({ enum: ["owner", "admin", "approver", "auditor", "member"] });
/** Columns of tables of signed statements. */
export const signedStatement = () => ({
  payload: bytea().notNull(),
  signature: bytea().notNull(),
  envelope_signature: bytea().notNull(),
  signed_by: text().notNull(),
});
