CREATE TABLE "webhook_deliveries" (
	"message_id" text NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"url" text,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"last_attempt_at" timestamp (3) with time zone,
	"last_status" integer,
	"last_problem" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_deliveries_message_id_endpoint_id_pk" PRIMARY KEY("message_id","endpoint_id")
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"url" text,
	"events" text[] NOT NULL,
	"keys" "bytea",
	"old_keys" "bytea",
	"old_keys_until" timestamp (3) with time zone,
	"disabled_at" timestamp (3) with time zone,
	"disabled_reason" text,
	"failing_since" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_messages" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"type" text NOT NULL,
	"subject" text NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_message_id_webhook_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "public"."webhook_messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("endpoint_id","next_attempt_at") WHERE "webhook_deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_log" ON "webhook_deliveries" USING btree ("endpoint_id","created_at" DESC NULLS LAST,"message_id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "webhook_endpoints_organization" ON "webhook_endpoints" USING btree ("organization_id");--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_endpoints_callbacks" ON "webhook_endpoints" USING btree ("organization_id") WHERE "webhook_endpoints"."url" IS NULL;--> statement-breakpoint
CREATE INDEX "webhook_messages_subject" ON "webhook_messages" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "webhook_messages_age" ON "webhook_messages" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "authorizations_overdue" ON "authorization_requests" USING btree ("expires_at") WHERE "authorization_requests"."status" = 'pending';
--> statement-breakpoint
-- One message, and a delivery for each endpoint that takes it; nothing if none does. `facts` are the members of `data`.
CREATE FUNCTION announce_event(
  of_organization uuid, event text, subject_id text, happened_at timestamptz, facts text, callback text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  message text := 'msg_' || left(encode(sha256(convert_to(event || ' ' || subject_id, 'UTF8')), 'hex'), 32);
  said_at text := to_char(happened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
BEGIN
  WITH takers AS (
    SELECT id, CASE WHEN url IS NULL THEN callback END AS address FROM webhook_endpoints
    WHERE organization_id = of_organization AND disabled_at IS NULL
      AND CASE WHEN url IS NULL THEN callback IS NOT NULL ELSE event = ANY(events) END
  ), written AS (
    INSERT INTO webhook_messages (id, organization_id, type, subject, body)
      SELECT message, of_organization, event, subject_id,
        format('{"type":"%s","timestamp":"%s","data":{%s}}', event, said_at, facts)
      WHERE EXISTS (SELECT FROM takers)
  )
  INSERT INTO webhook_deliveries (message_id, endpoint_id, url, status, next_attempt_at)
    SELECT message, id, address, 'pending', clock_timestamp() FROM takers;
END $$;
--> statement-breakpoint
-- Whatever ends a request, its message is written by the same statement.
CREATE FUNCTION announce_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.callback_url IS NOT NULL THEN
    INSERT INTO webhook_endpoints (id, organization_id, events) VALUES (gen_random_uuid(), NEW.organization_id, '{}')
      ON CONFLICT (organization_id) WHERE url IS NULL DO NOTHING;
  END IF;
  PERFORM announce_event(NEW.organization_id, 'authorization.' || NEW.status, NEW.id, coalesce(NEW.decided_at, clock_timestamp()),
    format('"request_id":"%s","status":"%s"', NEW.id, NEW.status), NEW.callback_url);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER authorization_requests_announce AFTER UPDATE OF status ON authorization_requests
  FOR EACH ROW WHEN (OLD.status = 'pending' AND NEW.status <> 'pending') EXECUTE FUNCTION announce_decision();
--> statement-breakpoint
-- Beside `store_attestations`, in its statement. Most batches are of organizations without an endpoint: one look tells.
CREATE FUNCTION announce_attestations(organizations uuid[], ids uuid[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM webhook_endpoints
      WHERE organization_id = ANY(organizations) AND disabled_at IS NULL AND 'attestation.created' = ANY(events)) THEN
    PERFORM announce_event(organization_id, 'attestation.created', id::text, created_at,
      format('"attestation_id":"%s"', id), NULL) FROM attestations WHERE id = ANY(ids);
  END IF;
  RETURN true;
END $$;
