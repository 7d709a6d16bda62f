ALTER TABLE "attestations" ADD COLUMN "warnings" text[];
--> statement-breakpoint
-- The codes that lib/core/statement/warnings.ts draws from the signed bytes; nothing for a row that was changed and is no JSON.
CREATE FUNCTION find_warnings(payload bytea, human_authorization bytea) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  predicate jsonb := convert_from(payload, 'UTF8')::jsonb -> 'predicate';
  approval jsonb := convert_from(human_authorization, 'UTF8')::jsonb;
BEGIN
  RETURN array_remove(ARRAY[
    CASE WHEN predicate #> '{verdicts,agent_authenticated}' = 'false' THEN 'agent_signature_invalid' END,
    CASE WHEN predicate #> '{verdicts,code_hash_verified}' = 'false' THEN 'code_hash_mismatch' END,
    CASE WHEN predicate #> '{verdicts,tools_authorized}' = 'false' THEN 'tools_not_registered' END,
    CASE WHEN predicate #>> '{human_approval,method}' = 'hash' THEN 'approval_asserted_only' END,
    CASE WHEN predicate #>> '{human_approval,environment}' <> 'production' THEN 'approval_test' END,
    CASE WHEN approval ->> 'version' = '1' AND approval #>> '{request,agent_public_key}'
      IS DISTINCT FROM predicate #>> '{registered,agent_public_key}' THEN 'approval_key_changed' END
  ], NULL);
END $$;
--> statement-breakpoint
-- One row at a time, so that one that was changed does not keep the others, nor the start, from going on.
DO $$
DECLARE
  attestation record;
  found text[];
BEGIN
  FOR attestation IN SELECT a.id, a.payload, a.human_authorization FROM attestations a WHERE a.payload IS NOT NULL LOOP
    BEGIN
      found := find_warnings(attestation.payload, attestation.human_authorization);
    EXCEPTION WHEN OTHERS THEN
      found := '{}';
    END;
    IF cardinality(found) > 0 THEN
      UPDATE attestations SET warnings = found WHERE id = attestation.id;
    END IF;
  END LOOP;
END $$;
--> statement-breakpoint
DROP FUNCTION find_warnings(bytea, bytea);
