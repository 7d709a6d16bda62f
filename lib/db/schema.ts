/**
 * The tables, one schema for the embedded database and PostgreSQL 15. Signed bytes are `bytea` and are
 * never rebuilt; no verdict is stored beside them (columns that repeat a signed field are search aids).
 */
export * from "#lib/db/schema/accounts";
export * from "#lib/db/schema/agents";
export * from "#lib/db/schema/approvals";
export * from "#lib/db/schema/approvers";
export * from "#lib/db/schema/attestations";
export * from "#lib/db/schema/http";
export * from "#lib/db/schema/log";
export * from "#lib/db/schema/rules";
export * from "#lib/db/schema/webhooks";
