ALTER TABLE "webhook_endpoints" ADD COLUMN "format" text DEFAULT 'standard' NOT NULL;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "shows_facts" boolean DEFAULT true NOT NULL;--> statement-breakpoint
-- In the statement that makes a request which waits for people. Most organizations have no endpoint for it: one look tells.
CREATE FUNCTION announce_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM webhook_endpoints
      WHERE organization_id = NEW.organization_id AND disabled_at IS NULL AND 'authorization.requested' = ANY(events)) THEN
    PERFORM announce_event(NEW.organization_id, 'authorization.requested', NEW.id, NEW.created_at,
      format('"request_id":"%s","status":"%s"', NEW.id, NEW.status), NULL);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER authorization_requests_announce_asked AFTER INSERT ON authorization_requests
  FOR EACH ROW WHEN (NEW.status = 'pending') EXECUTE FUNCTION announce_request();
