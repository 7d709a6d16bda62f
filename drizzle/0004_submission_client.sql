-- Whose share of the costly checks a proof that waits takes: the address that sent it, as limits count it.
ALTER TABLE "approval_submissions" ADD COLUMN "client" text;
