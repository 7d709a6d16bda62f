-- What lib/db/schema.ts can't say: storage, functions, triggers and one view.

-- ## Storage

-- Hashes do not compress.
ALTER TABLE "log_tiles" ALTER COLUMN "hashes" SET STORAGE EXTERNAL;
--> statement-breakpoint
-- Parts of them are read.
ALTER TABLE "agent_heads" ALTER COLUMN "rows" SET STORAGE EXTERNAL;
--> statement-breakpoint
ALTER TABLE "agent_heads" ALTER COLUMN "nodes" SET STORAGE EXTERNAL;
--> statement-breakpoint
-- The health check fills a page of it and rolls that back, which fails if the disk is full. Unlogged, so it costs no
-- write-ahead log.
ALTER TABLE "write_probe" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "write_probe" ALTER COLUMN "filler" SET STORAGE PLAIN;
--> statement-breakpoint

-- ## The log is append-only

-- The log is append-only for this service too: rows of leaves and checkpoints are never changed or removed.
CREATE FUNCTION refuse_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the transparency log is append-only (% on %)', TG_OP, TG_TABLE_NAME;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_leaves_append_only BEFORE DELETE OR TRUNCATE ON log_leaves
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
--> statement-breakpoint
-- But for one change: an entry that the store has is dropped here.
CREATE TRIGGER log_leaves_unchanged BEFORE UPDATE ON log_leaves FOR EACH ROW
  WHEN (NEW.data IS NOT NULL OR NEW.leaf_hash IS NOT NULL
    OR (NEW.log_id, NEW.leaf_index, NEW.kind, NEW.payload_hash, NEW.agent_id, NEW.sequence, NEW.previous)
      IS DISTINCT FROM (OLD.log_id, OLD.leaf_index, OLD.kind, OLD.payload_hash, OLD.agent_id, OLD.sequence, OLD.previous))
  EXECUTE FUNCTION refuse_log_change();
--> statement-breakpoint
CREATE TRIGGER log_checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON log_checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
--> statement-breakpoint
-- What signed statements name has to stay as it was.
CREATE TRIGGER cosigned_notes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON cosigned_notes
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
--> statement-breakpoint
CREATE TRIGGER agent_heads_stay BEFORE DELETE OR TRUNCATE ON agent_heads
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
--> statement-breakpoint
CREATE TRIGGER rosters_stay BEFORE UPDATE OF organization_id, number, head, entries, payload OR DELETE OR TRUNCATE ON rosters
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
--> statement-breakpoint

-- ## What a batch does

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
-- Notes how far instances of agents have counted, in one statement with the leaves of a batch. The log's head is locked
-- then, and these numbers change only with it; if one is not what the batch was signed with, nothing is stored.
CREATE FUNCTION advance_clients(ids bytea[], counted_from bigint[], counted_to bigint[])
  RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. cardinality(ids) LOOP
    UPDATE agent_clients SET sequence = counted_to[i] WHERE id = ids[i] AND sequence = counted_from[i];
    CONTINUE WHEN FOUND;
    INSERT INTO agent_clients (id, sequence) SELECT ids[i], counted_to[i] WHERE counted_from[i] = 0
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN PERFORM refuse_batch('client', encode(ids[i], 'hex')); END IF;
  END LOOP;
  RETURN true;
END $$;
--> statement-breakpoint
-- Why an approval can't be claimed or used, null if it can: the one place that says so (lib/approvals/unusable.ts has the
-- words).
CREATE FUNCTION why_unusable(request authorization_requests) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT CASE
    WHEN request.status <> 'approved' THEN 'not_approved'
    WHEN EXISTS (SELECT FROM grants WHERE grants.request_id = request.id) THEN 'standing'
    WHEN request.attestation_id IS NOT NULL THEN 'used'
    WHEN request.revoked_at IS NOT NULL THEN 'revoked'
    WHEN EXISTS (SELECT FROM agents WHERE agents.id = request.agent_id AND agents.frozen_at IS NOT NULL) THEN 'frozen'
    WHEN clock_timestamp() > request.usable_until THEN 'ended'
  END
$$;
--> statement-breakpoint
CREATE FUNCTION is_usable(request authorization_requests) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT why_unusable(request) IS NULL
$$;
--> statement-breakpoint
-- Judges each attestation of a batch by what the database holds now, and stores all of them or, if one can't be stored as
-- it is, none: then the detail of the refusal has a verdict for each such one (lib/attestations/verdicts.ts reads them).
-- `append_leaves` came before and holds the log's head, so no other batch is stored meanwhile.
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
  agent_signature_hashes bytea[], authorizations bytea[], authorization_ids text[], zk_proofs text[], bbs_signatures bytea[]
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
        agent_versions, idempotency_routes, idempotency_key_texts, holders, agent_signature_hashes, authorization_ids, times)
      AS given(leaf_index, organization_id, api_key_id, is_public, per_day, slug_key, agent_id,
        agent_version, route, key, holder, signature_hash, authorization_id, at)
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
            AND num_nonnulls(agents.public_key, agents.code_hash, agents.tool_manifest_hash) = 0
          THEN 'slug_claimed'
        WHEN agents.id IS DISTINCT FROM item.agent_id OR agents.xmin::text <> item.agent_version THEN 'outdated'
        WHEN item.authorization_state <> 'usable' THEN 'unusable_authorization'
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
--> statement-breakpoint

-- ## Reading

-- A quorum is the name of a witness, or {"k": how many, "of": [quorums]} (lib/core/approval/quorum.ts).
CREATE FUNCTION meets_quorum(names text[], quorum jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF jsonb_typeof(quorum) = 'string' THEN RETURN quorum #>> '{}' = ANY(names); END IF;
  RETURN (quorum ->> 'k')::int <=
    (SELECT count(*) FROM jsonb_array_elements(quorum -> 'of') AS member WHERE meets_quorum(names, member));
END $$;
--> statement-breakpoint
-- The place of an agent's row among the sorted rows of 72 bytes, from 0; null if it has none.
CREATE FUNCTION find_head_row(rows bytea, tag bytea) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  low integer := 0;
  high integer := octet_length(rows) / 72;
  middle integer;
BEGIN
  WHILE low < high LOOP
    middle := (low + high) / 2;
    IF substring(rows FROM middle * 72 + 1 FOR 32) < tag THEN low := middle + 1; ELSE high := middle; END IF;
  END LOOP;
  IF substring(rows FROM low * 72 + 1 FOR 32) = tag THEN RETURN low; END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint

-- ## The roster of approvers

-- Whatever changes who may approve says so in the same statement. The mark is held until the commit, so who takes it away
-- (lib/accounts/roster.ts) has waited for the change and sees it.
CREATE FUNCTION mark_roster(of_organization uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stale_rosters (organization_id, since) VALUES (of_organization, clock_timestamp())
    ON CONFLICT (organization_id) DO UPDATE SET since = excluded.since;
END $$;
--> statement-breakpoint
CREATE FUNCTION note_passkey() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mark_roster(CASE WHEN TG_OP = 'DELETE' THEN OLD.organization_id ELSE NEW.organization_id END);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER passkeys_roster AFTER INSERT OR DELETE OR UPDATE OF removed_at ON passkeys
  FOR EACH ROW EXECUTE FUNCTION note_passkey();
--> statement-breakpoint
-- A person who is deleted has no passkeys either, and those were noted.
CREATE FUNCTION note_group_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mark_roster(organization_id) FROM approvers
    WHERE id = CASE WHEN TG_OP = 'DELETE' THEN OLD.approver_id ELSE NEW.approver_id END;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER approver_groups_roster AFTER INSERT OR DELETE OR UPDATE ON approver_groups
  FOR EACH ROW EXECUTE FUNCTION note_group_member();
--> statement-breakpoint
-- Who leaves or is removed, by whatever way, has no passkeys any more: coming back means to enrol again.
CREATE FUNCTION remove_passkeys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE passkeys SET removed_at = clock_timestamp() WHERE approver_id = NEW.id AND removed_at IS NULL;
  DELETE FROM passkey_challenges WHERE approver_id = NEW.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER approvers_left AFTER UPDATE OF status ON approvers
  FOR EACH ROW WHEN (OLD.status = 'confirmed' AND NEW.status <> 'confirmed') EXECUTE FUNCTION remove_passkeys();
--> statement-breakpoint

-- ## What follows a decision or an attestation

-- Who is notified of a request, and of what: the people whom it names, and members who want to get all.
CREATE VIEW request_audience AS
  SELECT r.id AS request_id, r.organization_id, a.id AS approver_id, a.email,
    a.requests <> 'none' AS waiting, a.requests <> 'none' AND a.reminders AS reminder, a.decisions AS decided
  FROM authorization_requests r
  JOIN organizations o ON o.id = r.organization_id AND o.deleted_at IS NULL
  JOIN approvers a ON a.organization_id = r.organization_id AND a.status = 'confirmed' AND a.email IS NOT NULL
  WHERE EXISTS (SELECT FROM request_approvers n WHERE n.request_id = r.id AND n.approver_id = a.id)
    OR a.requests = 'all' AND EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
      WHERE m.organization_id = a.organization_id AND u.email = a.email);
--> statement-breakpoint
-- Whatever ends a request, the notices of it are written by the same statement.
CREATE FUNCTION notify_of_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notices (request_id, kind, approver_id, organization_id, status, next_attempt_at)
    SELECT request_id, 'decided', approver_id, organization_id, 'pending', clock_timestamp()
    FROM request_audience WHERE request_id = NEW.id AND decided
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER authorization_requests_notify AFTER UPDATE OF status ON authorization_requests
  FOR EACH ROW WHEN (OLD.status = 'pending' AND NEW.status <> 'pending') EXECUTE FUNCTION notify_of_decision();
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
-- What nobody was asked about is decided when it is made. Nobody is mailed about it.
CREATE TRIGGER authorization_requests_announce_unasked AFTER INSERT ON authorization_requests
  FOR EACH ROW WHEN (NEW.status <> 'pending') EXECUTE FUNCTION announce_decision();
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
