CREATE TABLE "approver_groups" (
	"group_id" uuid NOT NULL,
	"approver_id" uuid NOT NULL,
	CONSTRAINT "approver_groups_group_id_approver_id_pk" PRIMARY KEY("group_id","approver_id")
);
--> statement-breakpoint
CREATE TABLE "approvers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"name" text,
	"email" text,
	"status" text NOT NULL,
	"invited_at" timestamp (3) with time zone,
	"is_default" boolean DEFAULT false NOT NULL,
	"requests" text DEFAULT 'named' NOT NULL,
	"decisions" boolean DEFAULT false NOT NULL,
	"reminders" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notices" (
	"request_id" text NOT NULL,
	"kind" text NOT NULL,
	"approver_id" uuid NOT NULL,
	"organization_id" uuid NOT NULL,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notices_request_id_kind_approver_id_pk" PRIMARY KEY("request_id","kind","approver_id")
);
--> statement-breakpoint
CREATE TABLE "request_approvers" (
	"request_id" text NOT NULL,
	"approver_id" uuid NOT NULL,
	CONSTRAINT "request_approvers_request_id_approver_id_pk" PRIMARY KEY("request_id","approver_id")
);
--> statement-breakpoint
ALTER TABLE "approver_groups" ADD CONSTRAINT "approver_groups_group_id_approvers_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approver_groups" ADD CONSTRAINT "approver_groups_approver_id_approvers_id_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvers" ADD CONSTRAINT "approvers_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "request_approvers" ADD CONSTRAINT "request_approvers_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "request_approvers" ADD CONSTRAINT "request_approvers_approver_id_approvers_id_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "approver_groups_approver_id_index" ON "approver_groups" USING btree ("approver_id");--> statement-breakpoint
CREATE UNIQUE INDEX "approvers_email" ON "approvers" USING btree ("organization_id","email");--> statement-breakpoint
CREATE UNIQUE INDEX "approvers_name" ON "approvers" USING btree ("organization_id",lower("name")) WHERE "approvers"."status" <> 'removed';--> statement-breakpoint
CREATE UNIQUE INDEX "approvers_default" ON "approvers" USING btree ("organization_id") WHERE "approvers"."is_default";--> statement-breakpoint
CREATE INDEX "approvers_person" ON "approvers" USING btree ("email");--> statement-breakpoint
CREATE INDEX "notices_due" ON "notices" USING btree ("organization_id","next_attempt_at") WHERE "notices"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "notices_age" ON "notices" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "request_approvers_approver_id_index" ON "request_approvers" USING btree ("approver_id");--> statement-breakpoint
-- Who is notified of a request, and of what: the people whom it names, and members who want to get all.
CREATE VIEW request_audience AS
  SELECT r.id AS request_id, r.organization_id, a.id AS approver_id, a.email,
    a.requests <> 'none' AS waiting, a.requests <> 'none' AND a.reminders AS reminder, a.decisions AS decided
  FROM authorization_requests r
  JOIN organizations o ON o.id = r.organization_id AND o.deleted_at IS NULL
  JOIN approvers a ON a.organization_id = r.organization_id AND a.status = 'confirmed' AND a.email IS NOT NULL
  WHERE EXISTS (SELECT FROM request_approvers n WHERE n.request_id = r.id AND n.approver_id = a.id)
    OR a.requests = 'all' AND EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
      WHERE m.organization_id = a.organization_id AND u.email = a.email);
--> statement-breakpoint
-- Whatever ends a request, the notices of it are written by the same statement.
CREATE FUNCTION notify_of_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notices (request_id, kind, approver_id, organization_id, status, next_attempt_at)
    SELECT request_id, 'decided', approver_id, organization_id, 'pending', clock_timestamp()
    FROM request_audience WHERE request_id = NEW.id AND decided
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER authorization_requests_notify AFTER UPDATE OF status ON authorization_requests
  FOR EACH ROW WHEN (OLD.status = 'pending' AND NEW.status <> 'pending') EXECUTE FUNCTION notify_of_decision();
