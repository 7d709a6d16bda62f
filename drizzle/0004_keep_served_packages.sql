CREATE TABLE "served_packages" (
	"digest" text NOT NULL,
	"name" text NOT NULL,
	"bytes" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "served_packages_digest_name_pk" PRIMARY KEY("digest","name")
);
