DROP INDEX "authorizations_pending";--> statement-breakpoint
CREATE INDEX "authorizations_pending" ON "authorization_requests" USING btree ("organization_id","status");