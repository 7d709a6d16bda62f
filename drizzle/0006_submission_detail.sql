ALTER TABLE "approval_submissions" ADD COLUMN "detail" text;
--> statement-breakpoint
-- Both were in one column before, as "code words".
UPDATE "approval_submissions"
SET "code" = split_part("code", ' ', 1), "detail" = substr("code", strpos("code", ' ') + 1)
WHERE strpos("code", ' ') > 0;
