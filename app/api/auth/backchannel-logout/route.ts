/** POST by the company's provider: a person's sessions end there, so they end here (OpenID Connect Back-Channel Logout). */
export { endProviderSessions as POST } from "#lib/server/pages/session";
