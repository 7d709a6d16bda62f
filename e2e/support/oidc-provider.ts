/** A real OpenID Connect provider in the test's process (oidc-provider), and a browser that goes there and back. */
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT } from "jose";
import { Provider } from "oidc-provider";

/** A person at the provider; `claims` is its userinfo. */
export interface ProviderPerson {
  sub: string;
  claims: Record<string, unknown>;
}

export const client = { id: "countersign", secret: "client-secret-of-the-test" };

export interface TestProvider {
  issuer: string;
  /** The person who signs in next. */
  person: ProviderPerson;
  /** The parameters of each authorization request. */
  requests: URLSearchParams[];
  /** Goes from the address that the service redirects to, to the one that the provider redirects back to. */
  visit(location: string): Promise<string>;
  /** A logout token for the subject, signed as its ID tokens are; `changed`: claims that differ. */
  logOut(sub: string, changed?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export async function startProvider(redirectUri: string): Promise<TestProvider> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: "jwk" }), kid: "test", alg: "RS256", use: "sig" };
  let listener: ReturnType<Provider["callback"]> = () => {};
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state = {
    person: { sub: "nobody", claims: {} } as ProviderPerson,
    requests: [] as URLSearchParams[],
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [redirectUri],
        response_types: ["code"],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified", "groups"] },
    jwks: { keys: [key] },
    cookies: { keys: ["a key of the test"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    pkce: { required: () => true },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, ...state.person.claims }),
    }),
    loadExistingGrant: async (ctx: {
      oidc: { client: { clientId: string }; session: { accountId: string } };
    }) => {
      const { client: of, session } = ctx.oidc;
      const grant = new provider.Grant({ clientId: of.clientId, accountId: session.accountId });
      grant.addOIDCScope("openid email");
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  listener = (request, response) => {
    const url = new URL(request.url ?? "/", issuer);
    if (url.pathname === "/auth") state.requests.push(url.searchParams);
    if (!url.pathname.startsWith("/interaction/")) return answer(request, response);
    // The person gives their password, and nothing is left to ask.
    void provider.interactionFinished(request, response, { login: { accountId: state.person.sub } });
  };
  return Object.assign(state, {
    issuer,
    visit: (location: string) => follow(issuer, location),
    logOut: (sub: string, changed = {}) =>
      new SignJWT({
        iss: issuer,
        aud: client.id,
        iat: Math.floor(Date.now() / 1000),
        jti: `${Math.random()}`,
        sub,
        events: { "http://schemas.openid.net/event/backchannel-logout": {} },
        ...changed,
      })
        .setProtectedHeader({ alg: "RS256", kid: "test", typ: "logout+jwt" })
        .sign(privateKey),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  });
}

/** Follows redirects with the provider's own cookies until they leave it. */
async function follow(issuer: string, first: string): Promise<string> {
  const cookies = new Map<string, string>();
  let location = new URL(first);
  for (let i = 0; i < 10 && location.origin === issuer; i += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(location, { redirect: "manual", headers: { cookie, connection: "close" } });
    for (const one of answer.headers.getSetCookie()) {
      const [pair = ""] = one.split(";");
      cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
    }
    const next = answer.headers.get("location");
    if (next === null) throw new Error(`the provider answers ${answer.status}: ${await answer.text()}`);
    location = new URL(next, location);
  }
  return location.href;
}
