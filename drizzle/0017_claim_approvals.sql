ALTER TABLE "authorization_requests" ADD COLUMN "run" text;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD COLUMN "claimed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD COLUMN "unattested_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "authorization_id" text;--> statement-breakpoint
CREATE INDEX "authorizations_claimed" ON "authorization_requests" USING btree ("claimed_at") WHERE "authorization_requests"."claimed_at" IS NOT NULL AND "authorization_requests"."attestation_id" IS NULL AND "authorization_requests"."unattested_at" IS NULL;--> statement-breakpoint
CREATE INDEX "authorizations_unattested" ON "authorization_requests" USING btree ("organization_id") WHERE "authorization_requests"."attestation_id" IS NULL AND "authorization_requests"."unattested_at" IS NOT NULL;
--> statement-breakpoint
UPDATE "idempotency_keys" SET "authorization_id" = substring("response" FROM '"request_id":"(areq_[A-Za-z0-9_-]{22})"')
  WHERE "route" = '/v1/authorize';
--> statement-breakpoint
-- Whether an approval may be claimed and used: the one place that says so.
CREATE FUNCTION is_usable(request authorization_requests) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT request.status = 'approved' AND request.attestation_id IS NULL
$$;
