CREATE TABLE "group_readings" (
	"group_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"day" date NOT NULL,
	"to_end" integer NOT NULL,
	"not_to_end" integer NOT NULL,
	CONSTRAINT "group_readings_group_id_agent_id_day_pk" PRIMARY KEY("group_id","agent_id","day")
);
--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD COLUMN "derivation" text;--> statement-breakpoint
ALTER TABLE "group_readings" ADD CONSTRAINT "group_readings_group_id_approvers_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "group_readings" ADD CONSTRAINT "group_readings_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;