-- What happened before is not sent.
ALTER TABLE "audit_events" ADD COLUMN "export_due_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "audit_events" ALTER COLUMN "export_due_at" SET DEFAULT now();--> statement-breakpoint
CREATE INDEX "audit_export_due" ON "audit_events" USING btree ("export_due_at") WHERE "audit_events"."export_due_at" IS NOT NULL;