-- Most attestations carry neither: a null needs no entry in an index.
ALTER TABLE "attestations" DROP CONSTRAINT "attestations_agent_signature_hash_unique";
--> statement-breakpoint
ALTER TABLE "attestations" DROP CONSTRAINT "attestations_authorization_id_unique";
--> statement-breakpoint
CREATE UNIQUE INDEX "attestations_agent_signature" ON "attestations" USING btree ("agent_signature_hash") WHERE "agent_signature_hash" IS NOT NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX "attestations_authorization" ON "attestations" USING btree ("authorization_id") WHERE "authorization_id" IS NOT NULL;
--> statement-breakpoint
-- Hashes do not compress.
ALTER TABLE "log_tiles" ALTER COLUMN "hashes" SET STORAGE EXTERNAL;
--> statement-breakpoint
CREATE TABLE "agent_records" (
	"agent_id" uuid PRIMARY KEY NOT NULL,
	"listed" bigint NOT NULL,
	"sequence" bigint NOT NULL,
	"link" bytea,
	"salt" bytea
);
--> statement-breakpoint
INSERT INTO agent_records (agent_id, listed, sequence)
  SELECT agent_id, count(*) FILTER (WHERE is_public AND payload IS NOT NULL), 0 FROM attestations GROUP BY agent_id;
--> statement-breakpoint
-- Leaves that are older than records have no place in one.
ALTER TABLE "log_leaves" ADD COLUMN "payload_hash" bytea;
--> statement-breakpoint
ALTER TABLE "log_leaves" ADD COLUMN "agent_id" uuid;
--> statement-breakpoint
ALTER TABLE "log_leaves" ADD COLUMN "sequence" bigint;
--> statement-breakpoint
ALTER TABLE "log_leaves" ADD COLUMN "previous" bytea;
--> statement-breakpoint
CREATE UNIQUE INDEX "log_leaves_record" ON "log_leaves" USING btree ("agent_id","sequence") WHERE "agent_id" IS NOT NULL;
--> statement-breakpoint
-- What was assumed does not hold: the whole statement stores nothing. The message is the reason, the detail its subject.
CREATE FUNCTION refuse_batch(reason text, subject text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'CS001', MESSAGE = reason, DETAIL = coalesce(subject, '');
END $$;
--> statement-breakpoint
-- Appends a batch to the log if its head and the active keys are those that the batch was signed for. The head's lock
-- comes first: everything after it sees what was committed before, and nothing changes the log meanwhile.
CREATE FUNCTION append_leaves(
  of_log integer, old_size bigint, old_root bytea, log_key text, attestation_key text, zk_key text,
  new_size bigint, new_root bytea, note text,
  kinds text[], leaf_hashes bytea[], leaves bytea[],
  -- A place in an agent's record for each leaf that has one, else null.
  payload_hashes bytea[], agent_ids uuid[], sequences bigint[], previous_links bytea[],
  -- For each tile that grows: SHA-256 of what it holds, null for a new one, and what comes behind.
  levels integer[], indexes bigint[], held bytea[], added bytea[],
  -- For each record that grows: its agent, from which sequence to which, its new link, how many more its feed has, and
  -- the salt of its tag if these are its first entries.
  grown uuid[], grown_from bigint[], grown_to bigint[], new_links bytea[], more_listed bigint[], salts bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE logs SET size = new_size, root = new_root, checkpoint = note, updated_at = now()
    WHERE id = of_log AND size = old_size AND root = old_root AND key_id = log_key AND closed_at IS NULL;
  IF NOT FOUND THEN PERFORM refuse_batch('head', of_log::text); END IF;
  IF NOT EXISTS (SELECT FROM signing_keys
      WHERE purpose = 'attestation' AND status = 'active' AND key_id = attestation_key)
    THEN PERFORM refuse_batch('signing_key', attestation_key); END IF;
  IF zk_key IS NOT NULL AND NOT EXISTS (SELECT FROM signing_keys
      WHERE purpose = 'zk' AND status = 'active' AND key_id = zk_key)
    THEN PERFORM refuse_batch('signing_key', zk_key); END IF;
  FOR i IN 1 .. cardinality(levels) LOOP
    IF held[i] IS NULL THEN
      INSERT INTO log_tiles (log_id, level, tile_index, hashes) VALUES (of_log, levels[i], indexes[i], added[i]);
    ELSE
      UPDATE log_tiles SET hashes = hashes || added[i]
        WHERE log_id = of_log AND level = levels[i] AND tile_index = indexes[i] AND sha256(hashes) = held[i];
      IF NOT FOUND THEN PERFORM refuse_batch('tile', levels[i] || '/' || indexes[i]); END IF;
    END IF;
  END LOOP;
  INSERT INTO log_checkpoints (log_id, size, root, note) VALUES (of_log, new_size, new_root, note);
  INSERT INTO log_leaves (log_id, leaf_index, kind, leaf_hash, data, payload_hash, agent_id, sequence, previous)
    SELECT of_log, old_size + place - 1, kind, hash, leaf, payload_hash, agent, number, link
    FROM unnest(kinds, leaf_hashes, leaves, payload_hashes, agent_ids, sequences, previous_links) WITH ORDINALITY
      AS given(kind, hash, leaf, payload_hash, agent, number, link, place);
  FOR i IN 1 .. cardinality(grown) LOOP
    UPDATE agent_records SET sequence = grown_to[i], link = new_links[i], listed = listed + more_listed[i],
        salt = coalesce(salt, salts[i])
      WHERE agent_id = grown[i] AND sequence = grown_from[i];
    CONTINUE WHEN FOUND;
    INSERT INTO agent_records (agent_id, listed, sequence, link, salt)
      SELECT grown[i], more_listed[i], grown_to[i], new_links[i], salts[i] WHERE grown_from[i] = 0
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN PERFORM refuse_batch('record', grown[i]::text); END IF;
  END LOOP;
  RETURN true;
END $$;
--> statement-breakpoint
-- Stores a batch's attestations if all that was in memory when they were made still holds. `rare_json` is null or holds what
-- few of them need: agents (first use of a slug), spent (authorizations), answers (by Idempotency-Key), proven (keys of
-- agents whose first signature this is).
CREATE FUNCTION store_attestations(
  of_log integer, default_per_day integer,
  caller_keys uuid[], caller_organizations uuid[], caller_public boolean[], caller_per_day integer[],
  agent_ids uuid[], agent_organizations uuid[], agent_versions text[],
  usage_organizations uuid[], usage_days date[], usage_counts integer[], usage_limits integer[],
  rare_json text,
  ids uuid[], organization_ids uuid[], their_agents uuid[], api_key_ids uuid[], leaf_indexes bigint[],
  payloads bytea[], payload_hashes bytea[], signatures bytea[], envelope_signatures bytea[], key_ids text[],
  are_public boolean[], times timestamptz[], actions text[], approval_methods text[], warning_codes text[],
  agent_signature_hashes bytea[], authorizations bytea[], authorization_ids text[], zk_proofs text[], bbs_signatures bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  rare jsonb := rare_json::jsonb;
  missing text;
BEGIN
  SELECT given.id INTO missing
    FROM unnest(caller_keys, caller_organizations, caller_public, caller_per_day)
      AS given(id, organization_id, is_public, per_day)
    LEFT JOIN api_keys ON api_keys.id = given.id AND api_keys.organization_id = given.organization_id
      AND api_keys.revoked_at IS NULL AND (api_keys.expires_at IS NULL OR api_keys.expires_at > now())
    LEFT JOIN organizations ON organizations.id = api_keys.organization_id AND organizations.deleted_at IS NULL
      AND organizations.default_public = given.is_public
      AND coalesce(organizations.attestations_per_day, default_per_day) = given.per_day
    WHERE organizations.id IS NULL LIMIT 1;
  IF FOUND THEN PERFORM refuse_batch('caller', missing); END IF;

  -- Held as they are until the commit, in the order that every batch takes.
  FOR i IN 1 .. cardinality(agent_ids) LOOP
    PERFORM FROM agents WHERE id = agent_ids[i] AND organization_id = agent_organizations[i]
      AND xmin::text = agent_versions[i] FOR SHARE;
    IF NOT FOUND THEN PERFORM refuse_batch('agent', agent_ids[i]::text); END IF;
  END LOOP;

  FOR i IN 1 .. cardinality(usage_days) LOOP
    INSERT INTO daily_usage AS kept (organization_id, day, attestations)
      VALUES (usage_organizations[i], usage_days[i], usage_counts[i])
      ON CONFLICT (organization_id, day) DO UPDATE SET attestations = kept.attestations + excluded.attestations
      RETURNING CASE WHEN kept.attestations > usage_limits[i] THEN kept.organization_id::text END INTO missing;
    IF missing IS NOT NULL THEN PERFORM refuse_batch('daily_limit', missing); END IF;
  END LOOP;

  IF rare ? 'agents' THEN
    INSERT INTO agents (id, organization_id, slug, slug_key, created_at, updated_at)
      SELECT id, organization_id, slug, slug_key, created_at, created_at FROM jsonb_populate_recordset(NULL::agents, rare -> 'agents');
  END IF;

  INSERT INTO attestations (id, organization_id, agent_id, api_key_id, log_id, leaf_index, payload, payload_hash,
      signature, envelope_signature, key_id, is_public, created_at, action, human_approval_method, warnings,
      agent_signature_hash, human_authorization, authorization_id, zk_proof, bbs_signature)
    SELECT id, organization_id, agent_id, api_key_id, of_log, leaf_index, payload, payload_hash,
      signature, envelope_signature, key_id, is_public, at, action, approval_method, codes::text[],
      agent_signature_hash, authorization_object, authorization_id, zk_proof, bbs_signature
    FROM unnest(ids, organization_ids, their_agents, api_key_ids, leaf_indexes, payloads, payload_hashes,
      signatures, envelope_signatures, key_ids, are_public, times, actions, approval_methods, warning_codes,
      agent_signature_hashes, authorizations, authorization_ids, zk_proofs, bbs_signatures)
      AS given(id, organization_id, agent_id, api_key_id, leaf_index, payload, payload_hash,
        signature, envelope_signature, key_id, is_public, at, action, approval_method, codes,
        agent_signature_hash, authorization_object, authorization_id, zk_proof, bbs_signature);

  IF rare IS NULL THEN RETURN true; END IF;

  SELECT given.id INTO missing FROM jsonb_to_recordset(rare -> 'spent') AS given(id text, attestation_id uuid)
    WHERE NOT EXISTS (SELECT FROM authorization_requests AS request WHERE request.id = given.id
      AND request.status = 'approved' AND request.attestation_id IS NULL FOR UPDATE) LIMIT 1;
  IF FOUND THEN PERFORM refuse_batch('authorization', missing); END IF;
  UPDATE authorization_requests AS request SET attestation_id = given.attestation_id
    FROM jsonb_to_recordset(rare -> 'spent') AS given(id text, attestation_id uuid) WHERE request.id = given.id;

  SELECT given.key INTO missing
    FROM jsonb_to_recordset(rare -> 'answers') AS given(organization_id uuid, route text, key text, holder uuid)
    WHERE NOT EXISTS (SELECT FROM idempotency_keys AS kept WHERE kept.organization_id = given.organization_id
      AND kept.route = given.route AND kept.key = given.key AND kept.holder = given.holder FOR UPDATE) LIMIT 1;
  IF FOUND THEN PERFORM refuse_batch('idempotency_key', missing); END IF;
  UPDATE idempotency_keys AS kept
    SET status = given.status, response = given.response, attestation_id = given.attestation_id
    FROM jsonb_to_recordset(rare -> 'answers')
      AS given(organization_id uuid, route text, key text, holder uuid, status integer, response text, attestation_id uuid)
    WHERE kept.organization_id = given.organization_id AND kept.route = given.route AND kept.key = given.key;

  UPDATE agent_keys SET proven_at = given.at
    FROM jsonb_to_recordset(rare -> 'proven') AS given(agent_id uuid, public_key bytea, at timestamptz)
    WHERE agent_keys.agent_id = given.agent_id AND agent_keys.public_key = given.public_key AND proven_at IS NULL;
  RETURN true;
END $$;
