CREATE TABLE "accounts" (
	"user_id" text NOT NULL,
	"type" text NOT NULL,
	"provider" text NOT NULL,
	"provider_account_id" text NOT NULL,
	"refresh_token" text,
	"access_token" text,
	"expires_at" integer,
	"token_type" text,
	"scope" text,
	"id_token" text,
	"session_state" text,
	CONSTRAINT "accounts_provider_provider_account_id_pk" PRIMARY KEY("provider","provider_account_id")
);
--> statement-breakpoint
CREATE TABLE "agent_keys" (
	"agent_id" uuid NOT NULL,
	"public_key" "bytea" NOT NULL,
	"registered_at" timestamp (3) with time zone NOT NULL,
	"proven_at" timestamp (3) with time zone,
	"retired_at" timestamp (3) with time zone,
	CONSTRAINT "agent_keys_agent_id_registered_at_pk" PRIMARY KEY("agent_id","registered_at")
);
--> statement-breakpoint
CREATE TABLE "agents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"slug" text NOT NULL,
	"slug_key" text NOT NULL,
	"name" text,
	"description" text,
	"public_key" "bytea",
	"code_hash" text,
	"model_id" text,
	"tool_manifest_hash" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agents_slug_key_unique" UNIQUE("slug_key")
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"prefix" text NOT NULL,
	"last_four" text NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"last_used_ip" text,
	"expires_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_keys_secret_hash_unique" UNIQUE("secret_hash")
);
--> statement-breakpoint
CREATE TABLE "approval_submissions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"request_id" text NOT NULL,
	"nonce" text NOT NULL,
	"body" text NOT NULL,
	"status" text NOT NULL,
	"code" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "approval_submissions_nonce_unique" UNIQUE("nonce")
);
--> statement-breakpoint
CREATE TABLE "approvals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"request_id" text NOT NULL,
	"environment" text NOT NULL,
	"world_action" text NOT NULL,
	"nullifier_hash" text NOT NULL,
	"record" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "attestations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"api_key_id" uuid NOT NULL,
	"log_id" integer NOT NULL,
	"leaf_index" bigint NOT NULL,
	"payload" "bytea",
	"payload_hash" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"envelope_signature" "bytea" NOT NULL,
	"key_id" text NOT NULL,
	"is_public" boolean NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"action" text,
	"human_approval_method" text,
	"agent_signature_hash" "bytea",
	"human_authorization" "bytea",
	"authorization_id" text,
	"zk_proof" text,
	"bbs_signature" "bytea",
	"erased_at" timestamp (3) with time zone,
	CONSTRAINT "attestations_agent_signature_hash_unique" UNIQUE("agent_signature_hash"),
	CONSTRAINT "attestations_authorization_id_unique" UNIQUE("authorization_id")
);
--> statement-breakpoint
CREATE TABLE "audit_events" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"actor_kind" text NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"subject" text NOT NULL,
	"detail" jsonb,
	"ip" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "authorization_requests" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"api_key_id" uuid NOT NULL,
	"request" "bytea" NOT NULL,
	"request_hash" "bytea" NOT NULL,
	"context" text,
	"context_salt" text,
	"fingerprint" "bytea" NOT NULL,
	"status" text NOT NULL,
	"approvals_required" integer NOT NULL,
	"protocol_version" text,
	"denial_reason" text,
	"callback_url" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"decided_at" timestamp (3) with time zone,
	"human_authorization" "bytea",
	"decision_payload" "bytea",
	"decision_signature" "bytea",
	"decision_envelope_signature" "bytea",
	"decision_key_id" text,
	"decision_log" text,
	"log_id" integer,
	"leaf_index" bigint,
	"attestation_id" uuid,
	CONSTRAINT "authorization_requests_request_hash_unique" UNIQUE("request_hash")
);
--> statement-breakpoint
CREATE TABLE "daily_usage" (
	"organization_id" uuid NOT NULL,
	"day" date NOT NULL,
	"attestations" integer NOT NULL,
	CONSTRAINT "daily_usage_organization_id_day_pk" PRIMARY KEY("organization_id","day")
);
--> statement-breakpoint
CREATE TABLE "email_code_failures" (
	"email" text NOT NULL,
	"day" date NOT NULL,
	"failures" integer NOT NULL,
	CONSTRAINT "email_code_failures_email_day_pk" PRIMARY KEY("email","day")
);
--> statement-breakpoint
CREATE TABLE "email_codes" (
	"email" text PRIMARY KEY NOT NULL,
	"code_hmac" "bytea" NOT NULL,
	"name" text,
	"tries" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"organization_id" uuid NOT NULL,
	"route" text NOT NULL,
	"key" text NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"holder" uuid NOT NULL,
	"locked_until" timestamp (3) with time zone NOT NULL,
	"status" integer,
	"response" text,
	"attestation_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_organization_id_route_key_pk" PRIMARY KEY("organization_id","route","key")
);
--> statement-breakpoint
CREATE TABLE "invitations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"invited_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"accepted_at" timestamp (3) with time zone,
	CONSTRAINT "invitations_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "key_events" (
	"purpose" text NOT NULL,
	"key_id" text NOT NULL,
	"event" text NOT NULL,
	"log_id" integer NOT NULL,
	"leaf_index" bigint NOT NULL,
	"payload" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"envelope_signature" "bytea" NOT NULL,
	"signed_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "key_events_purpose_key_id_event_log_id_pk" PRIMARY KEY("purpose","key_id","event","log_id")
);
--> statement-breakpoint
CREATE TABLE "log_checkpoints" (
	"log_id" integer NOT NULL,
	"size" bigint NOT NULL,
	"root" "bytea" NOT NULL,
	"note" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "log_checkpoints_log_id_size_pk" PRIMARY KEY("log_id","size")
);
--> statement-breakpoint
CREATE TABLE "log_cosignatures" (
	"log_id" integer NOT NULL,
	"size" bigint NOT NULL,
	"witness" text NOT NULL,
	"line" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "log_cosignatures_log_id_size_witness_pk" PRIMARY KEY("log_id","size","witness")
);
--> statement-breakpoint
CREATE TABLE "log_leaves" (
	"log_id" integer NOT NULL,
	"leaf_index" bigint NOT NULL,
	"kind" text NOT NULL,
	"leaf_hash" "bytea" NOT NULL,
	"data" "bytea" NOT NULL,
	CONSTRAINT "log_leaves_log_id_leaf_index_pk" PRIMARY KEY("log_id","leaf_index")
);
--> statement-breakpoint
CREATE TABLE "log_tiles" (
	"log_id" integer NOT NULL,
	"level" integer NOT NULL,
	"tile_index" bigint NOT NULL,
	"hashes" "bytea" NOT NULL,
	CONSTRAINT "log_tiles_log_id_level_tile_index_pk" PRIMARY KEY("log_id","level","tile_index")
);
--> statement-breakpoint
CREATE TABLE "logs" (
	"id" integer PRIMARY KEY NOT NULL,
	"origin" text NOT NULL,
	"key_id" text NOT NULL,
	"size" bigint NOT NULL,
	"root" "bytea" NOT NULL,
	"checkpoint" text NOT NULL,
	"epoch_payload" "bytea",
	"epoch_signature" "bytea",
	"epoch_envelope_signature" "bytea",
	"epoch_key_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"closed_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "mailbox_messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"recipient" text NOT NULL,
	"subject" text NOT NULL,
	"text" text NOT NULL,
	"html" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "memberships" (
	"organization_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "memberships_organization_id_user_id_pk" PRIMARY KEY("organization_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"default_public" boolean DEFAULT true NOT NULL,
	"attestations_per_day" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "rate_limits" (
	"key" text PRIMARY KEY NOT NULL,
	"points" integer DEFAULT 0 NOT NULL,
	"expire" bigint
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"session_token" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"expires" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"key_id" text NOT NULL,
	"purpose" text NOT NULL,
	"public_key" "bytea" NOT NULL,
	"status" text NOT NULL,
	"log_id" integer NOT NULL,
	"valid_from_index" bigint,
	"valid_to_index" bigint,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"retired_at" timestamp (3) with time zone,
	CONSTRAINT "signing_keys_purpose_key_id_log_id_pk" PRIMARY KEY("purpose","key_id","log_id")
);
--> statement-breakpoint
CREATE TABLE "tool_manifests" (
	"hash" text PRIMARY KEY NOT NULL,
	"manifest" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text,
	"email" text NOT NULL,
	"email_verified" timestamp (3) with time zone,
	"image" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "users_email_unique" UNIQUE("email")
);
--> statement-breakpoint
CREATE TABLE "verification_tokens" (
	"identifier" text NOT NULL,
	"token" text NOT NULL,
	"expires" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "verification_tokens_identifier_token_pk" PRIMARY KEY("identifier","token")
);
--> statement-breakpoint
CREATE TABLE "world_nonces" (
	"nonce" text PRIMARY KEY NOT NULL,
	"request_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_keys" ADD CONSTRAINT "agent_keys_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agents" ADD CONSTRAINT "agents_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approval_submissions" ADD CONSTRAINT "approval_submissions_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attestations" ADD CONSTRAINT "attestations_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attestations" ADD CONSTRAINT "attestations_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD CONSTRAINT "authorization_requests_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD CONSTRAINT "authorization_requests_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "world_nonces" ADD CONSTRAINT "world_nonces_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "agents_organization_id_index" ON "agents" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "api_keys_organization_id_index" ON "api_keys" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "approval_submissions_request_id_index" ON "approval_submissions" USING btree ("request_id");--> statement-breakpoint
CREATE INDEX "approval_submissions_status_next_attempt_at_index" ON "approval_submissions" USING btree ("status","next_attempt_at");--> statement-breakpoint
CREATE UNIQUE INDEX "approvals_nullifier" ON "approvals" USING btree ("environment","world_action","nullifier_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "attestations_log_id_leaf_index_index" ON "attestations" USING btree ("log_id","leaf_index");--> statement-breakpoint
CREATE INDEX "attestations_feed" ON "attestations" USING btree ("agent_id","is_public","log_id" DESC NULLS LAST,"leaf_index" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "attestations_organization" ON "attestations" USING btree ("organization_id","id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "audit_organization" ON "audit_events" USING btree ("organization_id","id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "authorizations_organization" ON "authorization_requests" USING btree ("organization_id","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "authorizations_pending" ON "authorization_requests" USING btree ("api_key_id","status");--> statement-breakpoint
CREATE INDEX "authorizations_fingerprint" ON "authorization_requests" USING btree ("fingerprint","decided_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_expires_at_index" ON "idempotency_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_attestation_id_index" ON "idempotency_keys" USING btree ("attestation_id");--> statement-breakpoint
CREATE INDEX "invitations_organization_id_index" ON "invitations" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "mailbox_messages_created_at_index" ON "mailbox_messages" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "memberships_user_id_index" ON "memberships" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "rate_limits_expire_index" ON "rate_limits" USING btree ("expire");--> statement-breakpoint
CREATE UNIQUE INDEX "signing_keys_one_active" ON "signing_keys" USING btree ("purpose") WHERE "signing_keys"."status" = 'active';