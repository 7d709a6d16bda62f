CREATE TABLE "daily_counts" (
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"day" date NOT NULL,
	"total" integer NOT NULL,
	CONSTRAINT "daily_counts_organization_id_kind_subject_day_pk" PRIMARY KEY("organization_id","kind","subject","day")
);
--> statement-breakpoint
CREATE TABLE "daily_requests" (
	"organization_id" uuid NOT NULL,
	"day" date NOT NULL,
	"requests" integer NOT NULL,
	"dropped" integer NOT NULL,
	CONSTRAINT "daily_requests_organization_id_day_pk" PRIMARY KEY("organization_id","day")
);
--> statement-breakpoint
CREATE TABLE "request_log" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"method" text NOT NULL,
	"path" text NOT NULL,
	"status" integer NOT NULL,
	"duration_ms" integer NOT NULL,
	"error_code" text,
	"api_key_id" uuid NOT NULL,
	"agent_slug" text
);
--> statement-breakpoint
CREATE TABLE "daily_key_usage" (
	"api_key_id" uuid NOT NULL,
	"day" date NOT NULL,
	"attestations" integer NOT NULL,
	CONSTRAINT "daily_key_usage_api_key_id_day_pk" PRIMARY KEY("api_key_id","day")
);
--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "is_test" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "attestations_per_day" integer;--> statement-breakpoint
CREATE INDEX "request_log_organization" ON "request_log" USING btree ("organization_id","at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "request_log_age" ON "request_log" USING brin ("at");
--> statement-breakpoint
-- Organizations that have only ever had test keys.
UPDATE agents SET is_test = true
  WHERE EXISTS (SELECT FROM api_keys WHERE organization_id = agents.organization_id AND starts_with(prefix, 'cs_test_'))
    AND NOT EXISTS (SELECT FROM api_keys WHERE organization_id = agents.organization_id AND NOT starts_with(prefix, 'cs_test_'));
--> statement-breakpoint
-- Beside `store_attestations`, in its statement: counts what each key records, and refuses the batch if that is more than
-- a key's own limit, as it is at this moment. `test_agents`: made by this batch, with test keys.
CREATE FUNCTION count_by_key(keys uuid[], days date[], counts integer[], test_agents uuid[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  exceeded text;
BEGIN
  WITH counted AS (
    INSERT INTO daily_key_usage AS kept (api_key_id, day, attestations)
      SELECT * FROM unnest(keys, days, counts)
      ON CONFLICT (api_key_id, day) DO UPDATE SET attestations = kept.attestations + excluded.attestations
      RETURNING api_key_id, attestations
  )
  SELECT id INTO exceeded FROM counted JOIN api_keys ON api_keys.id = counted.api_key_id
    WHERE counted.attestations > api_keys.attestations_per_day LIMIT 1;
  IF FOUND THEN PERFORM refuse_batch('key_limit', exceeded); END IF;
  IF cardinality(test_agents) > 0 THEN UPDATE agents SET is_test = true WHERE id = ANY(test_agents); END IF;
  RETURN true;
END $$;
