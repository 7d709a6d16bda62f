CREATE TABLE "use_reviews" (
	"request_id" text PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"verdict" text NOT NULL,
	"reviewed_by" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "review_rates" text;--> statement-breakpoint
ALTER TABLE "use_reviews" ADD CONSTRAINT "use_reviews_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE cascade ON UPDATE no action;