-- The health check fills a page of it and rolls that back, which fails if the disk is full. Unlogged, so it costs no
-- write-ahead log.
CREATE UNLOGGED TABLE "write_probe" (
	"filler" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "write_probe" ALTER COLUMN "filler" SET STORAGE PLAIN;
--> statement-breakpoint
CREATE INDEX "log_leaves_unrecorded" ON "log_leaves" USING btree ("log_id","leaf_index") WHERE "log_leaves"."agent_id" IS NULL AND "log_leaves"."kind" IN ('attestation', 'decision');--> statement-breakpoint
-- Leaves that are older than records have no place in one, and stay as they are: only new ones are checked.
ALTER TABLE "log_leaves" ADD CONSTRAINT "log_leaves_place" CHECK ("log_leaves"."payload_hash" IS NOT NULL AND num_nonnulls("log_leaves"."agent_id", "log_leaves"."sequence", "log_leaves"."previous") =
        CASE WHEN "log_leaves"."kind" IN ('attestation', 'decision') THEN 3 ELSE 0 END) NOT VALID;
