-- An attestation with no approval, no signature of its agent and no Idempotency-Key pays for none of them: a column without
-- any value comes as null, and what is about it is passed over. Limits are looked up where they are counted.

-- Judges each attestation of a batch by what the database holds now, and stores all of them or, if one can't be stored as
-- it is, none: then the detail of the refusal has a verdict for each such one (lib/services/attestations/store.ts reads
-- them). `append_leaves` came before and holds the log's head, so no other batch is stored meanwhile, and neither are other
-- rules.
CREATE OR REPLACE FUNCTION store_attestations(
  of_log integer, default_per_day integer,
  -- Agents that these attestations make by being the first to use a slug; null if there are none.
  new_agents text,
  -- What each attestation was made from. A new agent has no version yet.
  caller_public boolean[], caller_per_day integer[], slug_keys text[], agent_versions text[],
  -- Null without an Idempotency-Key.
  idempotency_routes text[], idempotency_key_texts text[], holders uuid[], responses text[],
  -- The agent's registered key, if this is the first signature that verifies under it.
  proven_keys bytea[],
  ids uuid[], organization_ids uuid[], their_agents uuid[], api_key_ids uuid[], leaf_indexes bigint[],
  payloads bytea[], payload_hashes bytea[], signatures bytea[], envelope_signatures bytea[], key_ids text[],
  are_public boolean[], times timestamptz[], actions text[], approval_methods text[], warning_codes text[],
  agent_signature_hashes bytea[], authorizations bytea[], authorization_ids text[], zk_proofs text[], bbs_signatures bytea[],
  -- Beside an authorization: the version of the organization's rules that it was judged by (0 without rules), and the stop
  -- that the attestation says it was used after.
  rules_versions integer[], stops text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  made uuid[];
  -- What is in the way of each attestation, if any has such a thing: its approval's state, the attestation that has its
  -- signature, and whether another request holds its Idempotency-Key.
  states text[];
  replays uuid[];
  taken boolean[];
  refused text;
  is_over boolean;
BEGIN
  -- What is judged is held as it is until the commit, in the order that every batch takes.
  IF new_agents IS NOT NULL THEN
    WITH inserted AS (
      INSERT INTO agents (id, organization_id, slug, slug_key, is_test, created_at, updated_at)
        SELECT id, organization_id, slug, slug_key, is_test, created_at, created_at
        FROM jsonb_populate_recordset(NULL::agents, new_agents::jsonb) WITH ORDINALITY ORDER BY slug_key, ordinality
        ON CONFLICT (slug_key) DO NOTHING
        RETURNING id
    )
    SELECT array_agg(id) INTO made FROM inserted;
  END IF;
  PERFORM FROM agents WHERE slug_key = ANY(slug_keys) ORDER BY slug_key FOR SHARE;
  IF authorization_ids IS NOT NULL THEN
    PERFORM FROM authorization_requests WHERE id = ANY(authorization_ids) ORDER BY id FOR UPDATE;
    SELECT array_agg(CASE
        WHEN given.id IS NULL THEN NULL
        WHEN asked.id IS NULL THEN 'unknown'
        ELSE coalesce(why_unusable(asked), CASE
          WHEN at > asked.usable_until THEN 'ended'
          WHEN rules_version <> coalesce(
              (SELECT max(number) FROM rule_sets WHERE rule_sets.organization_id = given.organization_id), 0)
            OR why_stopped(asked) IS DISTINCT FROM CASE WHEN stop NOT LIKE 'rule\_%' THEN stop END
            THEN 'outdated'
        END)
      END ORDER BY place) INTO states
      FROM unnest(authorization_ids, organization_ids, times, rules_versions, stops) WITH ORDINALITY
        AS given(id, organization_id, at, rules_version, stop, place)
      LEFT JOIN authorization_requests AS asked ON asked.id = given.id;
  END IF;
  IF holders IS NOT NULL THEN
    PERFORM FROM unnest(organization_ids, idempotency_routes, idempotency_key_texts, holders)
        AS given(organization_id, route, key, holder)
      JOIN idempotency_keys AS kept USING (organization_id, route, key)
      WHERE given.holder IS NOT NULL ORDER BY organization_id, route, key FOR UPDATE OF kept;
    SELECT array_agg(given.holder IS NOT NULL AND kept.holder IS DISTINCT FROM given.holder ORDER BY place) INTO taken
      FROM unnest(organization_ids, idempotency_routes, idempotency_key_texts, holders) WITH ORDINALITY
        AS given(organization_id, route, key, holder, place)
      LEFT JOIN idempotency_keys AS kept USING (organization_id, route, key);
  END IF;
  IF agent_signature_hashes IS NOT NULL THEN
    SELECT array_agg(stored.id ORDER BY place) INTO replays
      FROM unnest(agent_signature_hashes) WITH ORDINALITY AS given(hash, place)
      LEFT JOIN attestations AS stored ON stored.agent_signature_hash = given.hash;
  END IF;

  WITH judged AS (
    SELECT item.*, agents.id AS owner, agents.xmin::text AS owner_version, CASE
        -- Rows of keys are never deleted, so a missing one says nothing about the key.
        WHEN organizations.id IS NULL THEN 'unknown_key'
        WHEN api_keys.revoked_at IS NOT NULL OR api_keys.expires_at <= now() OR organizations.deleted_at IS NOT NULL
          THEN 'ended_key'
        WHEN organizations.default_public <> item.is_public
            OR coalesce(organizations.attestations_per_day, default_per_day) <> item.per_day
          THEN 'outdated'
        WHEN item.is_taken THEN 'taken_over'
        WHEN item.replayed IS NOT NULL THEN 'signature_replayed'
        WHEN agents.organization_id <> item.organization_id
          THEN CASE WHEN agents.id = ANY(made) THEN 'after_neighbour' ELSE 'slug_taken' END
        WHEN agents.id <> item.agent_id AND item.agent_version IS NULL
            AND num_nonnulls(agents.public_key, agents.code_hash, agents.tool_manifest_hash, agents.frozen_at) = 0
          THEN 'slug_claimed'
        WHEN agents.id IS DISTINCT FROM item.agent_id OR agents.xmin::text <> item.agent_version THEN 'outdated'
        WHEN item.why = 'outdated' THEN 'outdated'
        WHEN item.why IS NOT NULL THEN 'unusable_authorization'
        -- The first that brings a signature or an authorization may be refused yet: the others wait until it is stored.
        WHEN item.signature_hash IS NOT NULL
            AND leaf_indexes[array_position(agent_signature_hashes, item.signature_hash)] < item.leaf_index
          OR item.authorization_id IS NOT NULL
            AND leaf_indexes[array_position(authorization_ids, item.authorization_id)] < item.leaf_index
          THEN 'after_neighbour'
      END AS verdict
    FROM unnest(leaf_indexes, organization_ids, api_key_ids, caller_public, caller_per_day, slug_keys, their_agents,
        agent_versions, taken, agent_signature_hashes, replays, authorization_ids, states)
      AS item(leaf_index, organization_id, api_key_id, is_public, per_day, slug_key, agent_id,
        agent_version, is_taken, signature_hash, replayed, authorization_id, why)
    LEFT JOIN api_keys ON api_keys.id = item.api_key_id
    LEFT JOIN organizations ON organizations.id = api_keys.organization_id AND organizations.id = item.organization_id
    LEFT JOIN agents ON agents.slug_key = item.slug_key
  )
  SELECT jsonb_agg(jsonb_build_object('leaf_index', leaf_index, 'verdict', verdict, 'replayed', replayed, 'owner', owner,
      'owner_version', owner_version, 'why', why))::text
    INTO refused FROM judged WHERE verdict IS NOT NULL;
  IF refused IS NOT NULL THEN PERFORM refuse_batch('verdicts', refused); END IF;

  WITH of_organizations AS (
    INSERT INTO daily_usage AS kept (organization_id, day, attestations)
      SELECT organization_id, (at AT TIME ZONE 'UTC')::date AS day, count(*)
      FROM unnest(organization_ids, times) AS given(organization_id, at) GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (organization_id, day) DO UPDATE SET attestations = kept.attestations + excluded.attestations
      RETURNING attestations > (SELECT coalesce(attestations_per_day, default_per_day) FROM organizations
        WHERE id = kept.organization_id) AS is_over
  ), of_keys AS (
    INSERT INTO daily_key_usage AS kept (api_key_id, day, attestations)
      SELECT api_key_id, (at AT TIME ZONE 'UTC')::date AS day, count(*)
      FROM unnest(api_key_ids, times) AS given(api_key_id, at) GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (api_key_id, day) DO UPDATE SET attestations = kept.attestations + excluded.attestations
      RETURNING attestations > (SELECT attestations_per_day FROM api_keys WHERE id = kept.api_key_id) AS is_over
  )
  SELECT EXISTS (SELECT FROM of_organizations WHERE of_organizations.is_over)
    OR EXISTS (SELECT FROM of_keys WHERE of_keys.is_over) INTO is_over;
  IF is_over THEN
    -- The counts have this batch in them already. The first get what a limit has left.
    WITH item AS (
      SELECT *, (at AT TIME ZONE 'UTC')::date AS day
      FROM unnest(leaf_indexes, organization_ids, api_key_ids, caller_per_day, times)
        AS given(leaf_index, organization_id, api_key_id, per_day, at)
    ), of_keys AS (
      SELECT item.*, keys.attestations_per_day AS key_per_day,
        used.attestations - count(*) OVER of_day + row_number() OVER (of_day ORDER BY leaf_index)
          > keys.attestations_per_day AS is_over
      FROM item JOIN api_keys AS keys ON keys.id = item.api_key_id JOIN daily_key_usage AS used USING (api_key_id, day)
      WINDOW of_day AS (PARTITION BY api_key_id, day)
    ), of_organizations AS (
      SELECT of_keys.*, used.attestations - count(*) OVER of_day + 1 + count(*) FILTER (WHERE of_keys.is_over IS NOT TRUE)
        OVER (of_day ORDER BY leaf_index ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) > per_day AS are_over
      FROM of_keys JOIN daily_usage AS used USING (organization_id, day)
      WINDOW of_day AS (PARTITION BY organization_id, day)
    )
    SELECT jsonb_agg(jsonb_build_object('leaf_index', leaf_index,
        'verdict', CASE WHEN are_over THEN 'organization_limit' ELSE 'key_limit' END,
        'per_day', CASE WHEN are_over THEN per_day ELSE key_per_day END))::text
      INTO refused FROM of_organizations WHERE of_organizations.is_over OR are_over;
    PERFORM refuse_batch('verdicts', refused);
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

  IF authorization_ids IS NOT NULL THEN
    UPDATE authorization_requests AS asked SET attestation_id = given.attestation_id, used_at = given.at
      FROM unnest(authorization_ids, ids, times) AS given(id, attestation_id, at) WHERE asked.id = given.id;
  END IF;
  IF idempotency_key_texts IS NOT NULL THEN
    UPDATE idempotency_keys AS kept SET status = 201, response = given.response, attestation_id = given.attestation_id
      FROM unnest(organization_ids, idempotency_routes, idempotency_key_texts, responses, ids)
        AS given(organization_id, route, key, response, attestation_id)
      WHERE kept.organization_id = given.organization_id AND kept.route = given.route AND kept.key = given.key;
  END IF;
  IF proven_keys IS NOT NULL THEN
    UPDATE agent_keys SET proven_at = given.at
      FROM unnest(their_agents, proven_keys, times) AS given(agent_id, public_key, at)
      WHERE agent_keys.agent_id = given.agent_id AND agent_keys.public_key = given.public_key AND proven_at IS NULL;
  END IF;
  RETURN true;
END $$;
