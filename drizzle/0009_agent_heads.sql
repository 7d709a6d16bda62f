CREATE TABLE "agent_heads" (
	"log_id" integer NOT NULL,
	"covers_size" bigint NOT NULL,
	"leaf_index" bigint NOT NULL,
	"agents" integer NOT NULL,
	"unrecorded" bigint NOT NULL,
	"rows" "bytea",
	"nodes" "bytea",
	"payload" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"envelope_signature" "bytea" NOT NULL,
	"signed_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agent_heads_log_id_covers_size_pk" PRIMARY KEY("log_id","covers_size")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "agent_heads_leaf" ON "agent_heads" USING btree ("log_id","leaf_index");--> statement-breakpoint
CREATE INDEX "log_leaves_statements" ON "log_leaves" USING btree ("log_id","leaf_index") WHERE "log_leaves"."kind" NOT IN ('attestation', 'decision');
--> statement-breakpoint
-- Parts of it are read; hashes do not compress.
ALTER TABLE "agent_heads" ALTER COLUMN "rows" SET STORAGE EXTERNAL;
--> statement-breakpoint
ALTER TABLE "agent_heads" ALTER COLUMN "nodes" SET STORAGE EXTERNAL;
--> statement-breakpoint
CREATE TRIGGER agent_heads_stay BEFORE DELETE OR TRUNCATE ON agent_heads
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
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
