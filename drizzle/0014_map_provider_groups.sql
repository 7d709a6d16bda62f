CREATE TABLE "provider_groups" (
	"organization_id" uuid NOT NULL,
	"name" text NOT NULL,
	"role" text,
	"group_id" uuid,
	"mapped_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "provider_groups_organization_id_name_pk" PRIMARY KEY("organization_id","name")
);
--> statement-breakpoint
ALTER TABLE "memberships" ADD COLUMN "role_by" text;--> statement-breakpoint
ALTER TABLE "approver_groups" ADD COLUMN "by_provider" text;--> statement-breakpoint
ALTER TABLE "provider_groups" ADD CONSTRAINT "provider_groups_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;