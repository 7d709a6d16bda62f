/** GET /portal/sign-in/oidc: to the company's provider. A link, because a form may lead to no other host (form-action). */
export { startProviderSignIn as GET } from "#lib/server/pages/session";
