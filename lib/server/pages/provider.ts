/** The OpenID Connect provider of the settings, as next-auth takes it. */
import { customFetch, type Profile } from "next-auth";
import type { OIDCConfig } from "next-auth/providers";
import type { App } from "#lib/server/app";
import { PROVIDER_ID, refuseProvider, subjectKey } from "#lib/services/accounts/provider-sign-in";

const timeoutMs = 10_000;

export function listProviders({ env }: Pick<App, "env">): OIDCConfig<Profile>[] {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return [];
  return [
    {
      id: PROVIDER_ID,
      type: "oidc",
      name: "Single sign-on",
      issuer,
      clientId,
      clientSecret,
      checks: ["pkce", "state", "nonce"],
      authorization: { params: { scope: "openid email" } },
      // From userinfo, where every provider has the address.
      idToken: false,
      profile: ({ sub, email }) => ({ id: subjectKey(issuer, String(sub)), email: email ?? null }),
      // No token of the provider is kept: nothing here asks it again.
      account: () => ({}),
      // refuseProvider decides before any account is looked at by its address.
      allowDangerousEmailAccountLinking: true,
      [customFetch]: (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) }),
    },
  ];
}

/** True, or where the browser is led to be told why not. */
export async function admitByProvider(
  { context, env }: App,
  profile: Profile | undefined,
): Promise<true | string> {
  const refusal = await refuseProvider(context, env.OIDC_ISSUER ?? "", {
    sub: profile?.sub,
    email: profile?.email,
    email_verified: profile?.email_verified,
  });
  return refusal === null ? true : `/portal/sign-in?error=${refusal}`;
}

/* How people can sign in here, by the settings. */

export function listSignInWays({ OIDC_ISSUER, OIDC_ENFORCED }: App["env"]): "email" | "both" | "provider" {
  if (OIDC_ISSUER === undefined) return "email";
  return OIDC_ENFORCED === "on" ? "provider" : "both";
}
