-- One inputs_hash that many attestations name filled a chain of the hash index, which each more of them read through. IF NOT
-- EXISTS: built before, while attestations go on (lib/db/migrations.ts).
CREATE INDEX IF NOT EXISTS "attestations_inputs" ON "attestations" USING btree ((substring(payload FROM octet_length(payload) - 84 FOR 64)),"id") WHERE "attestations"."is_public" AND "attestations"."payload" IS NOT NULL;
--> statement-breakpoint
-- The log's head first, as a batch locks it.
SELECT FROM logs WHERE closed_at IS NULL FOR UPDATE;
--> statement-breakpoint
DROP INDEX "attestations_inputs_hash";
--> statement-breakpoint
-- `store_attestations` looks both up for each attestation. Rows of API keys, which are never deleted, keep the organization.
ALTER TABLE "attestations" DROP CONSTRAINT "attestations_organization_id_organizations_id_fk";
--> statement-breakpoint
ALTER TABLE "attestations" DROP CONSTRAINT "attestations_agent_id_agents_id_fk";
--> statement-breakpoint
CREATE FUNCTION keep_attested_agent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM attestations WHERE agent_id = OLD.id) THEN
    RAISE EXCEPTION USING ERRCODE = 'foreign_key_violation', MESSAGE = format('agent %s has attestations', OLD.id);
  END IF;
  RETURN OLD;
END $$;
--> statement-breakpoint
CREATE TRIGGER agents_attested BEFORE DELETE ON agents FOR EACH ROW EXECUTE FUNCTION keep_attested_agent();
