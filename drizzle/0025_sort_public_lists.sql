-- Place of an approval in lists by amount: by currency, the largest first. Null without an amount. Canonical JSON has no other
-- member of this name with such a value, and a quote in a text is escaped.
CREATE OR REPLACE FUNCTION amount_place(human_authorization bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  amount CONSTANT text[] := regexp_match(
    left(split_part(encode(human_authorization, 'escape'), '"amount":{"currency":"', 2), 40),
    '^([A-Z]{3})","value":"([0-9]{1,14}(?:[.][0-9]{1,4})?)"');
BEGIN
  RETURN amount[1] || lpad(((100000000000000 - amount[2]::numeric) * 10000)::bigint::text, 19, '0');
END $$;
--> statement-breakpoint
-- IF NOT EXISTS: built before, while attestations go on (lib/db/migrations.ts).
CREATE INDEX IF NOT EXISTS "attestations_amount" ON "attestations" USING btree ("agent_id",amount_place("human_authorization"),"id") WHERE "attestations"."is_public" AND "attestations"."payload" IS NOT NULL AND "attestations"."human_authorization" IS NOT NULL;
