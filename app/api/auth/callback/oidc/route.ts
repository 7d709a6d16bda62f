/** Where the company's provider leads back to: next-auth's usual address, as providers' instructions print it. */
export { completeProviderSignIn as GET } from "#lib/server/pages/session";
