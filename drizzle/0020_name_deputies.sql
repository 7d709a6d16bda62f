CREATE TABLE "deputies" (
	"approver_id" uuid PRIMARY KEY NOT NULL,
	"deputy_id" uuid NOT NULL,
	"starts_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "looks" (
	"request_id" text NOT NULL,
	"name" text NOT NULL,
	"looked_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "looks_request_id_name_pk" PRIMARY KEY("request_id","name")
);
--> statement-breakpoint
ALTER TABLE "approver_groups" ADD COLUMN "step" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "approvers" ADD COLUMN "escalate_after" integer;--> statement-breakpoint
ALTER TABLE "approvers" ADD COLUMN "last_resort" uuid;--> statement-breakpoint
ALTER TABLE "deputies" ADD CONSTRAINT "deputies_approver_id_approvers_id_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deputies" ADD CONSTRAINT "deputies_deputy_id_approvers_id_fk" FOREIGN KEY ("deputy_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deputies_deputy" ON "deputies" USING btree ("deputy_id");
--> statement-breakpoint
CREATE TRIGGER deputies_roster AFTER INSERT OR DELETE OR UPDATE ON deputies
  FOR EACH ROW EXECUTE FUNCTION note_group_member();
--> statement-breakpoint
-- Who leaves or is removed, by whatever way, has no passkeys any more, and is nobody's deputy nor has one.
CREATE OR REPLACE FUNCTION remove_passkeys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE passkeys SET removed_at = clock_timestamp() WHERE approver_id = NEW.id AND removed_at IS NULL;
  DELETE FROM passkey_challenges WHERE approver_id = NEW.id;
  DELETE FROM deputies WHERE approver_id = NEW.id OR deputy_id = NEW.id;
  RETURN NULL;
END $$;
