-- The log is append-only for this service too: rows of leaves and checkpoints are never changed or removed.
CREATE FUNCTION refuse_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the transparency log is append-only (% on %)', TG_OP, TG_TABLE_NAME;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_leaves_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON log_leaves
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
--> statement-breakpoint
CREATE TRIGGER log_checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON log_checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
