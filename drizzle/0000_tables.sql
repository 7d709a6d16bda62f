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
CREATE TABLE "memberships" (
	"organization_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "memberships_organization_id_user_id_pk" PRIMARY KEY("organization_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "organization_domains" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"domain" text NOT NULL,
	"token" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"verified_since" timestamp (3) with time zone,
	"found_in" text,
	"found_at" timestamp (3) with time zone,
	"days_gone" integer DEFAULT 0 NOT NULL,
	"last_day_gone" date,
	"problem" text,
	"checked_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text,
	"default_public" boolean DEFAULT true NOT NULL,
	"requester_may_approve" boolean DEFAULT false NOT NULL,
	"attestations_per_day" integer,
	"mark_text" text,
	"mark_color" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"session_token" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"expires" timestamp (3) with time zone NOT NULL
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
CREATE TABLE "agent_changes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"change" text NOT NULL,
	"request_id" text,
	"changed_at" timestamp (3) with time zone NOT NULL,
	"reason" text,
	"reason_salt" text,
	"payload" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"envelope_signature" "bytea" NOT NULL,
	"signed_by" text NOT NULL,
	"log" text NOT NULL,
	"log_id" integer NOT NULL,
	"leaf_index" bigint NOT NULL
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
	"is_test" boolean DEFAULT false NOT NULL,
	"frozen_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agents_slug_key_unique" UNIQUE("slug_key")
);
--> statement-breakpoint
CREATE TABLE "tool_manifests" (
	"hash" text PRIMARY KEY NOT NULL,
	"manifest" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "approval_submissions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"request_id" text NOT NULL,
	"nonce" text NOT NULL,
	"body" text NOT NULL,
	"client" text,
	"status" text NOT NULL,
	"code" text,
	"detail" text,
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
	"nullifier_hash" text,
	"approver_id" uuid,
	"records" text NOT NULL,
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
	"agent_name" text,
	"organization_name" text,
	"group_names" text,
	"requested_by" text,
	"fingerprint" "bytea" NOT NULL,
	"amount_units" bigint,
	"currency" text,
	"grant_id" text,
	"rule_context" text,
	"rule_outcome" text,
	"status" text NOT NULL,
	"approvals_required" integer NOT NULL,
	"require_code" boolean DEFAULT false NOT NULL,
	"wrong_codes" integer DEFAULT 0 NOT NULL,
	"protocol_version" text,
	"denial_reason" text,
	"denied_by" uuid,
	"callback_url" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"decided_at" timestamp (3) with time zone,
	"decided_by" text,
	"usable_until" timestamp (3) with time zone,
	"human_authorization" "bytea",
	"decision_payload" "bytea",
	"decision_signature" "bytea",
	"decision_envelope_signature" "bytea",
	"decision_key_id" text,
	"decision_log" text,
	"log_id" integer,
	"leaf_index" bigint,
	"attestation_id" uuid,
	"revoked_at" timestamp (3) with time zone,
	"used_at" timestamp (3) with time zone,
	"run" text,
	"claimed_at" timestamp (3) with time zone,
	"unattested_at" timestamp (3) with time zone,
	CONSTRAINT "authorization_requests_request_hash_unique" UNIQUE("request_hash")
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
CREATE TABLE "approver_groups" (
	"group_id" uuid NOT NULL,
	"approver_id" uuid NOT NULL,
	CONSTRAINT "approver_groups_group_id_approver_id_pk" PRIMARY KEY("group_id","approver_id")
);
--> statement-breakpoint
CREATE TABLE "approvers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"name" text,
	"email" text,
	"status" text NOT NULL,
	"invited_at" timestamp (3) with time zone,
	"is_default" boolean DEFAULT false NOT NULL,
	"requests" text DEFAULT 'named' NOT NULL,
	"decisions" boolean DEFAULT false NOT NULL,
	"reminders" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notices" (
	"request_id" text NOT NULL,
	"kind" text NOT NULL,
	"approver_id" uuid NOT NULL,
	"organization_id" uuid NOT NULL,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notices_request_id_kind_approver_id_pk" PRIMARY KEY("request_id","kind","approver_id")
);
--> statement-breakpoint
CREATE TABLE "request_approvers" (
	"request_id" text NOT NULL,
	"approver_id" uuid NOT NULL,
	CONSTRAINT "request_approvers_request_id_approver_id_pk" PRIMARY KEY("request_id","approver_id")
);
--> statement-breakpoint
CREATE TABLE "agent_clients" (
	"id" "bytea" PRIMARY KEY NOT NULL,
	"sequence" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agent_records" (
	"agent_id" uuid PRIMARY KEY NOT NULL,
	"listed" bigint NOT NULL,
	"sequence" bigint NOT NULL,
	"link" "bytea",
	"salt" "bytea"
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
	"warnings" text[],
	"agent_signature_hash" "bytea",
	"human_authorization" "bytea",
	"authorization_id" text,
	"zk_proof" text,
	"bbs_signature" "bytea",
	"erased_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "daily_usage" (
	"organization_id" uuid NOT NULL,
	"day" date NOT NULL,
	"attestations" integer NOT NULL,
	CONSTRAINT "daily_usage_organization_id_day_pk" PRIMARY KEY("organization_id","day")
);
--> statement-breakpoint
CREATE TABLE "grants" (
	"request_id" text PRIMARY KEY NOT NULL,
	"agent_id" uuid NOT NULL,
	"public_key" "bytea",
	"code_hash" text,
	"terms" text NOT NULL,
	"request_hash" text NOT NULL,
	"authorization_hash" text NOT NULL,
	"environment" text NOT NULL,
	"approved_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "daily_counts" (
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"day" date NOT NULL,
	"total" integer NOT NULL,
	CONSTRAINT "daily_counts_organization_id_kind_subject_day_pk" PRIMARY KEY("organization_id","kind","subject","day")
);
--> statement-breakpoint
CREATE TABLE "daily_requests" (
	"organization_id" uuid NOT NULL,
	"day" date NOT NULL,
	"requests" integer NOT NULL,
	"dropped" integer NOT NULL,
	CONSTRAINT "daily_requests_organization_id_day_pk" PRIMARY KEY("organization_id","day")
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
	"authorization_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_organization_id_route_key_pk" PRIMARY KEY("organization_id","route","key")
);
--> statement-breakpoint
CREATE TABLE "rate_limits" (
	"key" text PRIMARY KEY NOT NULL,
	"points" integer DEFAULT 0 NOT NULL,
	"expire" bigint
);
--> statement-breakpoint
CREATE TABLE "request_log" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"method" text NOT NULL,
	"path" text NOT NULL,
	"status" integer NOT NULL,
	"duration_ms" integer NOT NULL,
	"error_code" text,
	"api_key_id" uuid NOT NULL,
	"agent_slug" text
);
--> statement-breakpoint
CREATE TABLE "write_probe" (
	"filler" text NOT NULL
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
	"attestations_per_day" integer,
	CONSTRAINT "api_keys_secret_hash_unique" UNIQUE("secret_hash")
);
--> statement-breakpoint
CREATE TABLE "daily_key_usage" (
	"api_key_id" uuid NOT NULL,
	"day" date NOT NULL,
	"attestations" integer NOT NULL,
	CONSTRAINT "daily_key_usage_api_key_id_day_pk" PRIMARY KEY("api_key_id","day")
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
CREATE TABLE "agent_heads" (
	"log_id" integer NOT NULL,
	"covers_size" bigint NOT NULL,
	"leaf_index" bigint NOT NULL,
	"agents" integer NOT NULL,
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
CREATE TABLE "cosigned_notes" (
	"hash" text PRIMARY KEY NOT NULL,
	"log_id" integer NOT NULL,
	"size" bigint NOT NULL,
	"note" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
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
CREATE TABLE "leases" (
	"name" text PRIMARY KEY NOT NULL,
	"next_at" timestamp (3) with time zone NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL
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
	"renewed_line" text,
	"renewed_at" timestamp (3) with time zone,
	CONSTRAINT "log_cosignatures_log_id_size_witness_pk" PRIMARY KEY("log_id","size","witness")
);
--> statement-breakpoint
CREATE TABLE "log_leaves" (
	"log_id" integer NOT NULL,
	"leaf_index" bigint NOT NULL,
	"kind" text NOT NULL,
	"leaf_hash" "bytea",
	"data" "bytea",
	"payload_hash" "bytea" NOT NULL,
	"agent_id" uuid,
	"sequence" bigint,
	"previous" "bytea",
	CONSTRAINT "log_leaves_log_id_leaf_index_pk" PRIMARY KEY("log_id","leaf_index"),
	CONSTRAINT "log_leaves_dropped" CHECK (num_nulls("log_leaves"."leaf_hash", "log_leaves"."data") IN (0, 2)),
	CONSTRAINT "log_leaves_place" CHECK (num_nonnulls("log_leaves"."agent_id", "log_leaves"."sequence", "log_leaves"."previous") =
        CASE WHEN "log_leaves"."kind" IN ('attestation', 'decision', 'agent_change') THEN 3 ELSE 0 END)
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
CREATE TABLE "mailbox_messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"recipient" text NOT NULL,
	"subject" text NOT NULL,
	"text" text NOT NULL,
	"html" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "passkey_challenges" (
	"challenge" "bytea" PRIMARY KEY NOT NULL,
	"approver_id" uuid NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "passkeys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"approver_id" uuid NOT NULL,
	"credential_id" text NOT NULL,
	"public_key" "bytea" NOT NULL,
	"sign_count" bigint NOT NULL,
	"backup_eligible" boolean NOT NULL,
	"backed_up" boolean NOT NULL,
	"transports" text[] NOT NULL,
	"name" text NOT NULL,
	"salt" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"removed_at" timestamp (3) with time zone,
	CONSTRAINT "passkeys_credential_id_unique" UNIQUE("credential_id")
);
--> statement-breakpoint
CREATE TABLE "rosters" (
	"organization_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"head" "bytea" NOT NULL,
	"entries" text NOT NULL,
	"details" text NOT NULL,
	"changes" text NOT NULL,
	"log_id" integer NOT NULL,
	"leaf_index" bigint NOT NULL,
	"receipt" text NOT NULL,
	"payload" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"envelope_signature" "bytea" NOT NULL,
	"signed_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"mail_due_at" timestamp (3) with time zone DEFAULT now(),
	CONSTRAINT "rosters_organization_id_number_pk" PRIMARY KEY("organization_id","number")
);
--> statement-breakpoint
CREATE TABLE "stale_rosters" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"since" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "rule_proposals" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"text" text NOT NULL,
	"mode" text NOT NULL,
	"fallback" text NOT NULL,
	"second_owner" boolean NOT NULL,
	"author_email" text NOT NULL,
	"author_key_id" uuid,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "rule_sets" (
	"organization_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"text" text NOT NULL,
	"hash" text NOT NULL,
	"mode" text NOT NULL,
	"fallback" text NOT NULL,
	"second_owner" boolean NOT NULL,
	"author_email" text NOT NULL,
	"author_key_id" uuid,
	"confirmed_by" text,
	"previous" text,
	"payload" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"envelope_signature" "bytea" NOT NULL,
	"signed_by" text NOT NULL,
	"log_id" integer NOT NULL,
	"leaf_index" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "rule_sets_organization_id_number_pk" PRIMARY KEY("organization_id","number")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"message_id" text NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"url" text,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone NOT NULL,
	"last_attempt_at" timestamp (3) with time zone,
	"last_status" integer,
	"last_problem" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_deliveries_message_id_endpoint_id_pk" PRIMARY KEY("message_id","endpoint_id")
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"url" text,
	"events" text[] NOT NULL,
	"keys" "bytea",
	"old_keys" "bytea",
	"old_keys_until" timestamp (3) with time zone,
	"disabled_at" timestamp (3) with time zone,
	"disabled_reason" text,
	"failing_since" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_messages" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"type" text NOT NULL,
	"subject" text NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_domains" ADD CONSTRAINT "organization_domains_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_changes" ADD CONSTRAINT "agent_changes_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_changes" ADD CONSTRAINT "agent_changes_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_keys" ADD CONSTRAINT "agent_keys_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agents" ADD CONSTRAINT "agents_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approval_submissions" ADD CONSTRAINT "approval_submissions_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD CONSTRAINT "authorization_requests_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD CONSTRAINT "authorization_requests_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "world_nonces" ADD CONSTRAINT "world_nonces_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approver_groups" ADD CONSTRAINT "approver_groups_group_id_approvers_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approver_groups" ADD CONSTRAINT "approver_groups_approver_id_approvers_id_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvers" ADD CONSTRAINT "approvers_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "request_approvers" ADD CONSTRAINT "request_approvers_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "request_approvers" ADD CONSTRAINT "request_approvers_approver_id_approvers_id_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attestations" ADD CONSTRAINT "attestations_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attestations" ADD CONSTRAINT "attestations_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_request_id_authorization_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."authorization_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "passkey_challenges" ADD CONSTRAINT "passkey_challenges_approver_id_approvers_id_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_approver_id_approvers_id_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."approvers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rule_proposals" ADD CONSTRAINT "rule_proposals_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rule_sets" ADD CONSTRAINT "rule_sets_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_message_id_webhook_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "public"."webhook_messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_organization" ON "audit_events" USING btree ("organization_id","id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "invitations_organization_id_index" ON "invitations" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "memberships_user_id_index" ON "memberships" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "organization_domains_domain" ON "organization_domains" USING btree ("organization_id","domain");--> statement-breakpoint
CREATE INDEX "organization_domains_due" ON "organization_domains" USING btree ("checked_at") WHERE "organization_domains"."verified_since" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "agent_changes_agent" ON "agent_changes" USING btree ("agent_id","changed_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "agent_changes_request" ON "agent_changes" USING btree ("request_id");--> statement-breakpoint
CREATE UNIQUE INDEX "agent_changes_leaf" ON "agent_changes" USING btree ("log_id","leaf_index");--> statement-breakpoint
CREATE INDEX "agents_organization_id_index" ON "agents" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "approval_submissions_request_id_index" ON "approval_submissions" USING btree ("request_id");--> statement-breakpoint
CREATE INDEX "approval_submissions_status_next_attempt_at_index" ON "approval_submissions" USING btree ("status","next_attempt_at");--> statement-breakpoint
CREATE UNIQUE INDEX "approvals_nullifier" ON "approvals" USING btree ("environment","world_action","nullifier_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "approvals_approver" ON "approvals" USING btree ("request_id","approver_id");--> statement-breakpoint
CREATE INDEX "authorizations_organization" ON "authorization_requests" USING btree ("organization_id","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "authorizations_agent" ON "authorization_requests" USING btree ("agent_id","status");--> statement-breakpoint
CREATE INDEX "authorizations_pending" ON "authorization_requests" USING btree ("organization_id","status");--> statement-breakpoint
CREATE INDEX "authorizations_fingerprint" ON "authorization_requests" USING btree ("fingerprint","decided_at");--> statement-breakpoint
CREATE INDEX "authorizations_grant" ON "authorization_requests" USING btree ("grant_id") WHERE "authorization_requests"."grant_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "authorizations_approved" ON "authorization_requests" USING btree ("agent_id","decided_at") WHERE "authorization_requests"."status" = 'approved';--> statement-breakpoint
CREATE INDEX "authorizations_overdue" ON "authorization_requests" USING btree ("expires_at") WHERE "authorization_requests"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "authorizations_claimed" ON "authorization_requests" USING btree ("claimed_at") WHERE "authorization_requests"."claimed_at" IS NOT NULL AND "authorization_requests"."attestation_id" IS NULL AND "authorization_requests"."unattested_at" IS NULL;--> statement-breakpoint
CREATE INDEX "authorizations_unattested" ON "authorization_requests" USING btree ("organization_id") WHERE "authorization_requests"."attestation_id" IS NULL AND "authorization_requests"."unattested_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "approver_groups_approver_id_index" ON "approver_groups" USING btree ("approver_id");--> statement-breakpoint
CREATE UNIQUE INDEX "approvers_email" ON "approvers" USING btree ("organization_id","email");--> statement-breakpoint
CREATE UNIQUE INDEX "approvers_name" ON "approvers" USING btree ("organization_id",lower("name")) WHERE "approvers"."status" <> 'removed';--> statement-breakpoint
CREATE UNIQUE INDEX "approvers_default" ON "approvers" USING btree ("organization_id") WHERE "approvers"."is_default";--> statement-breakpoint
CREATE INDEX "approvers_person" ON "approvers" USING btree ("email");--> statement-breakpoint
CREATE INDEX "notices_due" ON "notices" USING btree ("organization_id","next_attempt_at") WHERE "notices"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "notices_age" ON "notices" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "request_approvers_approver_id_index" ON "request_approvers" USING btree ("approver_id");--> statement-breakpoint
CREATE UNIQUE INDEX "attestations_log_id_leaf_index_index" ON "attestations" USING btree ("log_id","leaf_index");--> statement-breakpoint
CREATE UNIQUE INDEX "attestations_agent_signature" ON "attestations" USING btree ("agent_signature_hash") WHERE "attestations"."agent_signature_hash" IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "attestations_authorization" ON "attestations" USING btree ("authorization_id") WHERE "attestations"."authorization_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "attestations_feed" ON "attestations" USING btree ("agent_id","is_public","log_id" DESC NULLS LAST,"leaf_index" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "attestations_payload_hash" ON "attestations" USING hash ("payload_hash") WHERE "attestations"."is_public";--> statement-breakpoint
CREATE INDEX "attestations_inputs_hash" ON "attestations" USING hash ((substring(payload FROM octet_length(payload) - 84 FOR 64))) WHERE "attestations"."is_public" AND "attestations"."payload" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "attestations_organization" ON "attestations" USING btree ("organization_id","id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "grants_agent" ON "grants" USING btree ("agent_id","expires_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_expires_at_index" ON "idempotency_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_attestation_id_index" ON "idempotency_keys" USING btree ("attestation_id");--> statement-breakpoint
CREATE INDEX "rate_limits_expire_index" ON "rate_limits" USING btree ("expire");--> statement-breakpoint
CREATE INDEX "request_log_organization" ON "request_log" USING btree ("organization_id","at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "request_log_age" ON "request_log" USING brin ("at");--> statement-breakpoint
CREATE INDEX "api_keys_organization_id_index" ON "api_keys" USING btree ("organization_id");--> statement-breakpoint
CREATE UNIQUE INDEX "agent_heads_leaf" ON "agent_heads" USING btree ("log_id","leaf_index");--> statement-breakpoint
CREATE UNIQUE INDEX "log_leaves_record" ON "log_leaves" USING btree ("agent_id","sequence") WHERE "log_leaves"."agent_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "log_leaves_statements" ON "log_leaves" USING btree ("log_id","leaf_index") WHERE "log_leaves"."kind" NOT IN ('attestation', 'decision', 'agent_change');--> statement-breakpoint
CREATE INDEX "log_leaves_unrecorded" ON "log_leaves" USING btree ("log_id","leaf_index") WHERE "log_leaves"."agent_id" IS NULL AND "log_leaves"."kind" IN ('attestation', 'decision', 'agent_change');--> statement-breakpoint
CREATE UNIQUE INDEX "signing_keys_one_active" ON "signing_keys" USING btree ("purpose") WHERE "signing_keys"."status" = 'active';--> statement-breakpoint
CREATE INDEX "mailbox_messages_created_at_index" ON "mailbox_messages" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "passkeys_approver" ON "passkeys" USING btree ("approver_id");--> statement-breakpoint
CREATE INDEX "passkeys_organization" ON "passkeys" USING btree ("organization_id") WHERE "passkeys"."removed_at" IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "rosters_leaf" ON "rosters" USING btree ("log_id","leaf_index");--> statement-breakpoint
CREATE INDEX "rosters_mail_due" ON "rosters" USING btree ("mail_due_at") WHERE "rosters"."mail_due_at" IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "rule_sets_leaf" ON "rule_sets" USING btree ("log_id","leaf_index");--> statement-breakpoint
CREATE INDEX "rule_sets_hash" ON "rule_sets" USING btree ("organization_id","hash");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("endpoint_id","next_attempt_at") WHERE "webhook_deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_log" ON "webhook_deliveries" USING btree ("endpoint_id","created_at" DESC NULLS LAST,"message_id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "webhook_endpoints_organization" ON "webhook_endpoints" USING btree ("organization_id");--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_endpoints_callbacks" ON "webhook_endpoints" USING btree ("organization_id") WHERE "webhook_endpoints"."url" IS NULL;--> statement-breakpoint
CREATE INDEX "webhook_messages_subject" ON "webhook_messages" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "webhook_messages_age" ON "webhook_messages" USING btree ("created_at");