CREATE TABLE "planted_requests" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"group_id" uuid NOT NULL,
	"schedule" "bytea" NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"fact" text NOT NULL,
	"salt" text NOT NULL,
	"status" text NOT NULL,
	"outcome" text,
	"template_id" text,
	"agent_id" uuid,
	"api_key_id" uuid,
	"request" "bytea",
	"request_hash" "bytea",
	"context" text,
	"context_salt" text,
	"agent_name" text,
	"organization_name" text,
	"group_names" text,
	"requested_by" text,
	"amount_units" bigint,
	"currency" text,
	"rule_context" text,
	"rule_outcome" text,
	"questions" text,
	"approvals_required" integer,
	"created_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"decided_at" timestamp (3) with time zone,
	"mistake" text
);
--> statement-breakpoint
CREATE TABLE "planted_statements" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"document" "bytea" NOT NULL,
	"group_id" uuid NOT NULL,
	"until" timestamp (3) with time zone NOT NULL,
	"log_id" integer NOT NULL,
	"leaf_index" bigint NOT NULL,
	"payload" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"envelope_signature" "bytea" NOT NULL,
	"signed_by" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "request_approvers" DROP CONSTRAINT "request_approvers_request_id_authorization_requests_id_fk";
--> statement-breakpoint
ALTER TABLE "approvers" ADD COLUMN "planted_per_month" smallint;--> statement-breakpoint
ALTER TABLE "planted_requests" ADD CONSTRAINT "planted_requests_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "planted_requests_due" ON "planted_requests" USING btree ("at") WHERE "planted_requests"."status" = 'planned';--> statement-breakpoint
CREATE INDEX "planted_requests_open" ON "planted_requests" USING btree ("organization_id","expires_at") WHERE "planted_requests"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "planted_requests_template" ON "planted_requests" USING btree ("template_id") WHERE "planted_requests"."template_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "planted_statements_group" ON "planted_statements" USING btree ("organization_id","group_id","until");--> statement-breakpoint
CREATE UNIQUE INDEX "planted_statements_leaf" ON "planted_statements" USING btree ("log_id","leaf_index");--> statement-breakpoint
-- What people are asked: requests, and planted ones while they wait.
CREATE VIEW shown_requests AS
  SELECT id, organization_id, agent_id, api_key_id, status, created_at, expires_at FROM authorization_requests
  UNION ALL
  SELECT id, organization_id, agent_id, api_key_id, status, created_at, expires_at FROM planted_requests WHERE status = 'pending';
--> statement-breakpoint
CREATE OR REPLACE VIEW request_audience AS
  SELECT r.id AS request_id, r.organization_id, a.id AS approver_id, a.email,
    a.requests <> 'none' AS waiting, a.requests <> 'none' AND a.reminders AS reminder, a.decisions AS decided
  FROM shown_requests r
  JOIN organizations o ON o.id = r.organization_id AND o.deleted_at IS NULL
  JOIN approvers a ON a.organization_id = r.organization_id AND a.status = 'confirmed' AND a.email IS NOT NULL
  WHERE EXISTS (SELECT FROM request_approvers n WHERE n.request_id = r.id AND n.approver_id = a.id)
    OR a.requests = 'all' AND EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
      WHERE m.organization_id = a.organization_id AND u.email = a.email);
