ALTER TABLE "organizations" ADD COLUMN "requester_rule_chosen_at" timestamp (3) with time zone;--> statement-breakpoint
-- What an owner chose stays chosen.
UPDATE "organizations" SET "requester_rule_chosen_at" = now() WHERE "requester_may_approve"
  OR "id" IN (SELECT "organization_id" FROM "audit_events" WHERE "action" = 'organization.requester_rule');
