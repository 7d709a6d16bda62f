-- Stores one attestation as `append_leaves` and `store_attestations` store many, with the parameters of both, in their order
-- and without lists, which take PostgreSQL half as long again. It only asks if all that they check holds; one for which
-- something doesn't, or that comes with an approval or a new agent, is left to `store_attestations` to judge.
CREATE FUNCTION append_attestation(
  of_log integer, old_size bigint, old_root bytea, log_key text, attestation_key text, zk_key text,
  new_size bigint, new_root bytea, new_note text,
  leaf_kind text, hashed_leaf bytea, leaf bytea, hash_of_payload bytea, recorded uuid, its_sequence bigint, previous_link bytea,
  of_level integer, of_tile bigint, held bytea, added bytea,
  grown uuid, grown_from bigint, grown_to bigint, new_link bytea, more_listed bigint, new_salt bytea,
  same_log integer, default_per_day integer, new_agents text,
  caller_public boolean, caller_per_day integer, claimed text, agent_version text,
  of_route text, key_text text, of_holder uuid, answer text, proven_key bytea,
  its_id uuid, owner uuid, agent uuid, used_key uuid, place bigint,
  statement bytea, statement_hash bytea, raw_signature bytea, envelope bytea, signing_key text,
  shown boolean, made_at timestamptz, said_action text, approval_method text, warning_codes text,
  signature_hash bytea, approval bytea, approval_id text, proof text, bbs bytea, rules_version integer, stop text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  today date := (made_at AT TIME ZONE 'UTC')::date;
  fits boolean := new_agents IS NULL AND approval_id IS NULL;
  key_per_day integer;
  used integer;
  used_by_key integer;
BEGIN
  UPDATE logs SET size = new_size, root = new_root, checkpoint = new_note, updated_at = now()
    WHERE id = of_log AND size = old_size AND root = old_root AND key_id = log_key AND closed_at IS NULL;
  IF NOT FOUND THEN PERFORM refuse_batch('head', of_log::text); END IF;
  IF NOT EXISTS (SELECT FROM signing_keys
      WHERE purpose = 'attestation' AND status = 'active' AND key_id = attestation_key)
    THEN PERFORM refuse_batch('signing_key', attestation_key); END IF;
  IF zk_key IS NOT NULL THEN
    IF NOT EXISTS (SELECT FROM signing_keys WHERE purpose = 'zk' AND status = 'active' AND key_id = zk_key)
      THEN PERFORM refuse_batch('signing_key', zk_key); END IF;
  END IF;
  IF held IS NULL THEN
    INSERT INTO log_tiles (log_id, level, tile_index, hashes) VALUES (of_log, of_level, of_tile, added);
  ELSE
    UPDATE log_tiles SET hashes = hashes || added
      WHERE log_id = of_log AND level = of_level AND tile_index = of_tile AND sha256(hashes) = held;
    IF NOT FOUND THEN PERFORM refuse_batch('tile', of_level || '/' || of_tile); END IF;
  END IF;
  INSERT INTO log_checkpoints (log_id, size, root, note) VALUES (of_log, new_size, new_root, new_note);
  INSERT INTO log_leaves (log_id, leaf_index, kind, leaf_hash, data, payload_hash, agent_id, sequence, previous)
    VALUES (of_log, old_size, leaf_kind, hashed_leaf, leaf, hash_of_payload, recorded, its_sequence, previous_link);
  UPDATE agent_records SET sequence = grown_to, link = new_link, listed = listed + more_listed, salt = coalesce(salt, new_salt)
    WHERE agent_id = grown AND sequence = grown_from;
  IF NOT FOUND THEN
    INSERT INTO agent_records (agent_id, listed, sequence, link, salt)
      SELECT grown, more_listed, grown_to, new_link, new_salt WHERE grown_from = 0
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN PERFORM refuse_batch('record', grown::text); END IF;
  END IF;

  -- Locks in the order that every batch takes: what is judged stays as it is until the commit.
  IF fits THEN
    PERFORM FROM agents WHERE slug_key = claimed FOR SHARE;
    SELECT api_keys.attestations_per_day INTO key_per_day
      FROM api_keys
      JOIN organizations ON organizations.id = api_keys.organization_id
      JOIN agents ON agents.organization_id = organizations.id
      WHERE api_keys.id = used_key AND api_keys.revoked_at IS NULL AND (api_keys.expires_at <= now()) IS NOT TRUE
        AND organizations.id = owner AND organizations.deleted_at IS NULL
        AND organizations.default_public = caller_public
        AND coalesce(organizations.attestations_per_day, default_per_day) = caller_per_day
        AND agents.slug_key = claimed AND agents.id = agent AND agents.xmin::text = agent_version;
    fits := FOUND;
  END IF;
  IF fits AND of_holder IS NOT NULL THEN
    UPDATE idempotency_keys SET status = 201, response = answer, attestation_id = its_id
      WHERE organization_id = owner AND route = of_route AND key = key_text AND holder = of_holder;
    fits := FOUND;
  END IF;
  IF fits AND signature_hash IS NOT NULL THEN
    PERFORM FROM attestations WHERE agent_signature_hash = signature_hash;
    fits := NOT FOUND;
  END IF;
  IF NOT fits THEN
    RETURN store_attestations(of_log, default_per_day, new_agents, ARRAY[caller_public], ARRAY[caller_per_day], ARRAY[claimed],
      ARRAY[agent_version], nullif(ARRAY[of_route], '{NULL}'), nullif(ARRAY[key_text], '{NULL}'),
      nullif(ARRAY[of_holder], '{NULL}'), ARRAY[answer], nullif(ARRAY[proven_key], '{NULL}'), ARRAY[its_id], ARRAY[owner],
      ARRAY[agent], ARRAY[used_key], ARRAY[place], ARRAY[statement], ARRAY[statement_hash], ARRAY[raw_signature],
      ARRAY[envelope], ARRAY[signing_key], ARRAY[shown], ARRAY[made_at], ARRAY[said_action], ARRAY[approval_method],
      ARRAY[warning_codes], nullif(ARRAY[signature_hash], '{NULL}'), ARRAY[approval], nullif(ARRAY[approval_id], '{NULL}'),
      ARRAY[proof], ARRAY[bbs], ARRAY[rules_version], ARRAY[stop]);
  END IF;

  INSERT INTO daily_usage AS kept (organization_id, day, attestations) VALUES (owner, today, 1)
    ON CONFLICT (organization_id, day) DO UPDATE SET attestations = kept.attestations + 1
    RETURNING attestations INTO used;
  INSERT INTO daily_key_usage AS kept (api_key_id, day, attestations) VALUES (used_key, today, 1)
    ON CONFLICT (api_key_id, day) DO UPDATE SET attestations = kept.attestations + 1
    RETURNING attestations INTO used_by_key;
  IF used > caller_per_day OR used_by_key > key_per_day THEN
    PERFORM refuse_batch('verdicts', jsonb_build_array(jsonb_build_object('leaf_index', place,
      'verdict', CASE WHEN used > caller_per_day THEN 'organization_limit' ELSE 'key_limit' END,
      'per_day', CASE WHEN used > caller_per_day THEN caller_per_day ELSE key_per_day END))::text);
  END IF;
  INSERT INTO attestations (id, organization_id, agent_id, api_key_id, log_id, leaf_index, payload, payload_hash,
      signature, envelope_signature, key_id, is_public, created_at, action, human_approval_method, warnings,
      agent_signature_hash, zk_proof, bbs_signature)
    VALUES (its_id, owner, agent, used_key, of_log, place, statement, statement_hash,
      raw_signature, envelope, signing_key, shown, made_at, said_action, approval_method, warning_codes::text[],
      signature_hash, proof, bbs);
  IF proven_key IS NOT NULL THEN
    UPDATE agent_keys SET proven_at = made_at WHERE agent_id = agent AND public_key = proven_key AND proven_at IS NULL;
  END IF;
  RETURN true;
END $$;
