/** The company's provider redirects here: next-auth's usual address, which providers' instructions print. */
export { completeProviderSignIn as GET } from "#lib/server/pages/session";
