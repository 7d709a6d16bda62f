ALTER TABLE "rule_proposals" ADD COLUMN "derivation" text;--> statement-breakpoint
ALTER TABLE "rule_sets" ADD COLUMN "derivation" text;