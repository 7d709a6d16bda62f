CREATE TABLE "cosigned_notes" (
	"hash" text PRIMARY KEY NOT NULL,
	"log_id" integer NOT NULL,
	"size" bigint NOT NULL,
	"note" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_timestamps" (
	"log_id" integer NOT NULL,
	"size" bigint NOT NULL,
	"tsa" text NOT NULL,
	"response" "bytea" NOT NULL,
	"stamped_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "log_timestamps_log_id_size_tsa_pk" PRIMARY KEY("log_id","size","tsa")
);
--> statement-breakpoint
CREATE TABLE "outside_turns" (
	"name" text PRIMARY KEY NOT NULL,
	"next_at" timestamp (3) with time zone NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "log_cosignatures" ADD COLUMN "renewed_line" text;--> statement-breakpoint
ALTER TABLE "log_cosignatures" ADD COLUMN "renewed_at" timestamp (3) with time zone;
--> statement-breakpoint
-- What signed statements name has to stay as it was.
CREATE TRIGGER cosigned_notes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON cosigned_notes
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
--> statement-breakpoint
-- A quorum is the name of a witness, or {"k": how many, "of": [quorums]} (lib/core/approval/quorum.ts).
CREATE FUNCTION meets_quorum(names text[], quorum jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF jsonb_typeof(quorum) = 'string' THEN RETURN quorum #>> '{}' = ANY(names); END IF;
  RETURN (quorum ->> 'k')::int <=
    (SELECT count(*) FROM jsonb_array_elements(quorum -> 'of') AS member WHERE meets_quorum(names, member));
END $$;
