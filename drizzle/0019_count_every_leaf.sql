ALTER TABLE "log_leaves" ALTER COLUMN "payload_hash" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "agent_heads" DROP COLUMN "unrecorded";