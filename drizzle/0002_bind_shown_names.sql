ALTER TABLE "authorization_requests" ADD COLUMN "version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD COLUMN "agent_name" text;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD COLUMN "organization_name" text;