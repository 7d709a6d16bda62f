ALTER TABLE "authorization_requests" ADD COLUMN "amends" text;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD COLUMN "amended_by" text;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD COLUMN "questions" text;