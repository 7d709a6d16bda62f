CREATE TABLE "opening_links" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"user_id" text NOT NULL,
	"made_by" text NOT NULL,
	"attestation_id" uuid,
	"pack" text,
	"opening" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	"opened" integer DEFAULT 0 NOT NULL,
	"last_opened_at" timestamp (3) with time zone,
	CONSTRAINT "opening_links_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
ALTER TABLE "opening_links" ADD CONSTRAINT "opening_links_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "opening_links_organization_id_created_at_index" ON "opening_links" USING btree ("organization_id","created_at" DESC NULLS LAST);