/**
 * The tables, one schema for the embedded database and PostgreSQL 15. Signed bytes are `bytea` and are
 * never rebuilt; no verdict is stored beside them (columns that repeat a signed field are search aids).
 */
export * from "./schema/accounts";
export * from "./schema/agents";
export * from "./schema/approvals";
export * from "./schema/approvers";
export * from "./schema/attestations";
export * from "./schema/grants";
export * from "./schema/http";
export * from "./schema/keys";
export * from "./schema/log";
export * from "./schema/mail";
export * from "./schema/passkeys";
export * from "./schema/rules";
export * from "./schema/webhooks";
