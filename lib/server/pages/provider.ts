/** The OpenID Connect provider of the settings, as next-auth takes it. */
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { customFetch, type Profile } from "next-auth";
import type { OIDCConfig } from "next-auth/providers";
import { readBytes } from "#lib/api/http/pipeline";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import type { App } from "#lib/server/singleton";
import {
  type LogoutToken,
  PROVIDER_ID,
  readProviderAddress,
  refuseProvider,
  subjectKey,
} from "#lib/services/accounts/provider-sign-in";

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
      authorization: { params: { scope: env.OIDC_SCOPE } },
      // Read from userinfo, where every provider has the address.
      idToken: false,
      profile: ({ sub, email }) => ({
        id: subjectKey(issuer, String(sub)),
        email: readProviderAddress(email),
      }),
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

/* Ways to sign in here, by the settings. */

export function listSignInWays({ OIDC_ISSUER, OIDC_ENFORCED }: App["env"]): "email" | "both" | "provider" {
  if (OIDC_ISSUER === undefined) return "email";
  return OIDC_ENFORCED === "on" ? "provider" : "both";
}

/* Back-channel logout. */

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";
/** Algorithms that a provider signs with; a shared secret or none is no signature of its own. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
/** Times that jose keeps keys, and waits before it asks again for one that it doesn't know. */
const [keptMs, cooldownMs] = [10 * 60_000, 30_000];
const keySets = new Map<string, { keys: ReturnType<typeof createRemoteJWKSet>; readAtMs: number }>();

async function findKeys(issuer: string, maxAgeMs: number) {
  const known = keySets.get(issuer);
  if (known !== undefined && Date.now() - known.readAtMs < maxAgeMs) return known.keys;
  const at = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const answer = await fetch(at, { signal: AbortSignal.timeout(timeoutMs) });
  const { jwks_uri: uri } = (await answer.json()) as { jwks_uri?: unknown };
  const keys = createRemoteJWKSet(new URL(String(uri)), { timeoutDuration: timeoutMs });
  keySets.set(issuer, { keys, readAtMs: Date.now() });
  return keys;
}

class KeysUnreadable extends Error {}

/** The provider's key for a token; `KeysUnreadable` if the provider can't be asked now. */
const keyFrom =
  (issuer: string): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      const keys = await findKeys(issuer, keptMs);
      return await keys(header, token).catch(async (error: unknown) => {
        // The provider may have moved its keys.
        const moved = await findKeys(issuer, cooldownMs);
        if (moved === keys) throw error;
        return moved(header, token);
      });
    } catch (error) {
      const isOfToken = [
        errors.JWKSNoMatchingKey,
        errors.JWKSMultipleMatchingKeys,
        errors.JOSENotSupported,
      ].some((kind) => error instanceof kind);
      throw isOfToken ? error : new KeysUnreadable("the provider's keys can't be read", { cause: error });
    }
  };

/** Section 2.6 of the specification, in its order; a text says what is wrong. */
function judgeLogout({ sub, events, nonce, jti }: JWTPayload): LogoutToken | string {
  if (typeof events !== "object" || events === null || !(logoutEvent in events))
    return "the token is not for a logout";
  if (nonce !== undefined) return "a logout token must have no nonce";
  if (typeof jti !== "string") return "the token has no jti";
  return typeof sub === "string"
    ? { sub, jti }
    : "the token names no sub, and sessions are not known by sid here";
}

/** The subject of a verified logout token, or why there is none; null if the provider's keys can't be read now. */
export async function readLogoutToken(
  request: Request,
  issuer: string,
  audience: string,
): Promise<LogoutToken | string | null> {
  const form = new URLSearchParams(utf8Decode(await readBytes(request)));
  const token = form.get("logout_token");
  if (token === null) return "logout_token is missing";
  const ages = { maxTokenAge: "5 minutes", clockTolerance: "1 minute" };
  const options = { issuer, audience, algorithms, ...ages, requiredClaims: ["iat", "jti"] };
  try {
    return judgeLogout((await jwtVerify(token, keyFrom(issuer), options)).payload);
  } catch (error) {
    if (error instanceof KeysUnreadable) return null;
    if (error instanceof errors.JOSEError) return "the token does not verify";
    throw error;
  }
}
