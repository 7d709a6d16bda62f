-- Stops reach what was approved before them: the uses of a standing approval that is taken back or over, or was given
-- for another code hash, and whatever rules that were saved later forbid.

-- Why the standing approval that a use rests on can't be used any more; null if it can, and for what is no use.
CREATE FUNCTION why_stopped(request authorization_requests) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT CASE
    WHEN given.revoked_at IS NOT NULL THEN 'grant_revoked'
    WHEN clock_timestamp() >= grants.expires_at THEN 'grant_ended'
    WHEN agents.code_hash IS DISTINCT FROM grants.code_hash THEN 'code_changed'
  END
  FROM grants
  JOIN authorization_requests AS given ON given.id = grants.request_id
  JOIN agents ON agents.id = grants.agent_id
  WHERE grants.request_id = request.grant_id
$$;
--> statement-breakpoint
-- Why an approval can't be claimed or used, null if it can: the one place that says so (lib/approvals/unusable.ts has the
-- words). What a run claimed before the standing approval stopped may have happened, so it can still be attested.
CREATE OR REPLACE FUNCTION why_unusable(request authorization_requests) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT CASE
    WHEN request.status <> 'approved' THEN 'not_approved'
    WHEN EXISTS (SELECT FROM grants WHERE grants.request_id = request.id) THEN 'standing'
    WHEN request.attestation_id IS NOT NULL THEN 'used'
    WHEN request.revoked_at IS NOT NULL THEN 'revoked'
    WHEN EXISTS (SELECT FROM agents WHERE agents.id = request.agent_id AND agents.frozen_at IS NOT NULL) THEN 'frozen'
    WHEN clock_timestamp() > request.usable_until THEN 'ended'
    WHEN request.claimed_at IS NULL THEN why_stopped(request)
  END
$$;
--> statement-breakpoint
-- Judges each attestation of a batch by what the database holds now, and stores all of them or, if one can't be stored as
-- it is, none: then the detail of the refusal has a verdict for each such one (lib/attestations/verdicts.ts reads them).
-- `append_leaves` came before and holds the log's head, so no other batch is stored meanwhile, and neither are other rules.
-- The function with fewer parameters stays for servers of the version before.
CREATE FUNCTION store_attestations(
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
  refused text;
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
  PERFORM FROM authorization_requests WHERE id = ANY(authorization_ids) ORDER BY id FOR UPDATE;
  PERFORM FROM unnest(organization_ids, idempotency_routes, idempotency_key_texts, holders)
      AS given(organization_id, route, key, holder)
    JOIN idempotency_keys AS kept USING (organization_id, route, key)
    WHERE given.holder IS NOT NULL ORDER BY organization_id, route, key FOR UPDATE OF kept;

  WITH item AS (
    SELECT *, (at AT TIME ZONE 'UTC')::date AS day, CASE WHEN authorization_id IS NOT NULL THEN coalesce(
        (SELECT coalesce(why_unusable(asked), CASE WHEN at > asked.usable_until THEN 'ended' ELSE 'usable' END)
          FROM authorization_requests AS asked
          WHERE asked.id = given.authorization_id), 'unknown') END AS authorization_state
    FROM unnest(leaf_indexes, organization_ids, api_key_ids, caller_public, caller_per_day, slug_keys, their_agents,
        agent_versions, idempotency_routes, idempotency_key_texts, holders, agent_signature_hashes, authorization_ids, times,
        rules_versions, stops)
      AS given(leaf_index, organization_id, api_key_id, is_public, per_day, slug_key, agent_id,
        agent_version, route, key, holder, signature_hash, authorization_id, at, rules_version, stop)
  ), judged AS (
    SELECT item.*, api_keys.attestations_per_day AS key_per_day, replayed.id AS replayed,
      agents.id AS owner, agents.xmin::text AS owner_version, CASE
        -- Rows of keys are never deleted, so a missing one says nothing about the key.
        WHEN organizations.id IS NULL THEN 'unknown_key'
        WHEN api_keys.revoked_at IS NOT NULL OR api_keys.expires_at <= now() OR organizations.deleted_at IS NOT NULL
          THEN 'ended_key'
        WHEN organizations.default_public <> item.is_public
            OR coalesce(organizations.attestations_per_day, default_per_day) <> item.per_day
          THEN 'outdated'
        WHEN item.holder IS NOT NULL AND NOT EXISTS (SELECT FROM idempotency_keys AS kept
            WHERE kept.organization_id = item.organization_id AND kept.route = item.route AND kept.key = item.key
              AND kept.holder = item.holder)
          THEN 'taken_over'
        WHEN replayed.id IS NOT NULL THEN 'signature_replayed'
        WHEN agents.organization_id <> item.organization_id
          THEN CASE WHEN agents.id = ANY(made) THEN 'after_neighbour' ELSE 'slug_taken' END
        WHEN agents.id <> item.agent_id AND item.agent_version IS NULL
            AND num_nonnulls(agents.public_key, agents.code_hash, agents.tool_manifest_hash, agents.frozen_at) = 0
          THEN 'slug_claimed'
        WHEN agents.id IS DISTINCT FROM item.agent_id OR agents.xmin::text <> item.agent_version THEN 'outdated'
        WHEN item.authorization_state <> 'usable' THEN 'unusable_authorization'
        WHEN item.authorization_id IS NOT NULL AND (
            item.rules_version <> coalesce(
              (SELECT max(number) FROM rule_sets WHERE rule_sets.organization_id = item.organization_id), 0)
            OR (SELECT why_stopped(asked) FROM authorization_requests AS asked WHERE asked.id = item.authorization_id)
              IS DISTINCT FROM CASE WHEN item.stop NOT LIKE 'rule\_%' THEN item.stop END)
          THEN 'outdated'
      END AS verdict
    FROM item
    LEFT JOIN api_keys ON api_keys.id = item.api_key_id
    LEFT JOIN organizations ON organizations.id = api_keys.organization_id AND organizations.id = item.organization_id
    LEFT JOIN agents ON agents.slug_key = item.slug_key
    LEFT JOIN attestations AS replayed ON replayed.agent_signature_hash = item.signature_hash
  ), -- The first that brings a signature or an authorization may be refused yet: the others wait until it is stored.
  fit AS (
    SELECT *, (signature_hash IS NOT NULL AND row_number() OVER (PARTITION BY signature_hash ORDER BY leaf_index) > 1)
        OR (authorization_id IS NOT NULL AND row_number() OVER (PARTITION BY authorization_id ORDER BY leaf_index) > 1)
      AS comes_second
    FROM judged WHERE verdict IS NULL
  ), of_keys AS (
    SELECT fit.*, row_number() OVER (PARTITION BY api_key_id, fit.day ORDER BY leaf_index) + coalesce(used.attestations, 0)
        > key_per_day AS is_over
    FROM fit LEFT JOIN daily_key_usage AS used USING (api_key_id, day) WHERE NOT comes_second
  ), of_organizations AS (
    SELECT of_keys.*, 1 + count(*) FILTER (WHERE is_over IS NOT TRUE) OVER (PARTITION BY organization_id, of_keys.day
        ORDER BY leaf_index ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + coalesce(used.attestations, 0)
        > per_day AS are_over
    FROM of_keys LEFT JOIN daily_usage AS used USING (organization_id, day)
  ), verdicts AS (
    SELECT leaf_index, verdict, replayed, owner, owner_version, authorization_state AS why, NULL::integer AS per_day
    FROM judged WHERE verdict IS NOT NULL
    UNION ALL
    SELECT leaf_index, 'after_neighbour', NULL, NULL, NULL, NULL, NULL FROM fit WHERE comes_second
    UNION ALL
    SELECT leaf_index, CASE WHEN are_over THEN 'organization_limit' ELSE 'key_limit' END, NULL, NULL, NULL, NULL,
      CASE WHEN are_over THEN per_day ELSE key_per_day END
    FROM of_organizations WHERE is_over OR are_over
  )
  SELECT jsonb_agg(to_jsonb(verdicts))::text INTO refused FROM verdicts;
  IF refused IS NOT NULL THEN PERFORM refuse_batch('verdicts', refused); END IF;

  INSERT INTO daily_usage AS kept (organization_id, day, attestations)
    SELECT organization_id, (at AT TIME ZONE 'UTC')::date AS day, count(*)
    FROM unnest(organization_ids, times) AS given(organization_id, at) GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (organization_id, day) DO UPDATE SET attestations = kept.attestations + excluded.attestations;
  INSERT INTO daily_key_usage AS kept (api_key_id, day, attestations)
    SELECT api_key_id, (at AT TIME ZONE 'UTC')::date AS day, count(*)
    FROM unnest(api_key_ids, times) AS given(api_key_id, at) GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (api_key_id, day) DO UPDATE SET attestations = kept.attestations + excluded.attestations;

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

  UPDATE authorization_requests AS asked SET attestation_id = given.attestation_id, used_at = given.at
    FROM unnest(authorization_ids, ids, times) AS given(id, attestation_id, at) WHERE asked.id = given.id;
  UPDATE idempotency_keys AS kept SET status = 201, response = given.response, attestation_id = given.attestation_id
    FROM unnest(organization_ids, idempotency_routes, idempotency_key_texts, responses, ids)
      AS given(organization_id, route, key, response, attestation_id)
    WHERE kept.organization_id = given.organization_id AND kept.route = given.route AND kept.key = given.key;
  UPDATE agent_keys SET proven_at = given.at
    FROM unnest(their_agents, proven_keys, times) AS given(agent_id, public_key, at)
    WHERE agent_keys.agent_id = given.agent_id AND agent_keys.public_key = given.public_key AND proven_at IS NULL;
  RETURN true;
END $$;
