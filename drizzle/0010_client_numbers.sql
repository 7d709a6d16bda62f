CREATE TABLE "agent_clients" (
	"id" "bytea" PRIMARY KEY NOT NULL,
	"sequence" bigint NOT NULL
);
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
