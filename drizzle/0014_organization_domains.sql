CREATE TABLE "organization_domains" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"domain" text NOT NULL,
	"token" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"verified_since" timestamp (3) with time zone,
	"found_in" text,
	"found_at" timestamp (3) with time zone,
	"days_gone" integer DEFAULT 0 NOT NULL,
	"last_day_gone" date,
	"problem" text,
	"checked_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "mark_text" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "mark_color" text;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD COLUMN "requested_by" text;--> statement-breakpoint
ALTER TABLE "organization_domains" ADD CONSTRAINT "organization_domains_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "organization_domains_domain" ON "organization_domains" USING btree ("organization_id","domain");--> statement-breakpoint
CREATE INDEX "organization_domains_due" ON "organization_domains" USING btree ("checked_at") WHERE "organization_domains"."verified_since" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "authorizations_agent" ON "authorization_requests" USING btree ("agent_id","status");