/**
 * Guarantee: the company's provider, a real one here, signs in whom it vouches for and nobody else: no unverified address, no
 * account of another person's address, no role by a groups claim, and no way around it by email where it is enforced.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { Role } from "#lib/api/schemas/key-choices";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { saveGroup } from "#lib/services/accounts/approver-groups";
import { listApprovers, removeApprover } from "#lib/services/accounts/approvers";
import { addOwner } from "#lib/services/accounts/organizations";
import { saveProviderGroup } from "#lib/services/accounts/provider-groups";
import { createSignInLink } from "#lib/services/accounts/provider-sign-in";
import { changeRole, removeMember } from "#lib/services/portal/organization";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { client, startProvider, type TestProvider } from "#support/oidc-provider";
import { signInPerson } from "#support/portal";
import {
  completeProviderSignIn,
  completeSignIn,
  endProviderSessions,
  requestSignInLink,
  startProviderSignIn,
} from "./session";

const jar = vi.hoisted(() => ({ set: () => {}, get: () => undefined, getAll: () => [], delete: () => {} }));
vi.mock("next/headers", () => ({ headers: async () => new Headers(), cookies: async () => jar }));

const base = "http://localhost:3000";
const callback = `${base}/api/auth/callback/oidc`;

let test: TestApp;
let provider: TestProvider;
let organizationId: string;
let domain: string;
let counter = 0;

beforeAll(async () => {
  provider = await startProvider(callback);
});
afterAll(() => provider.close());

const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;

async function verifyDomain(of: string, name: string) {
  await query(
    `INSERT INTO organization_domains (id, organization_id, domain, token, created_at, verified_since)
      VALUES (gen_random_uuid(), $1, $2, 'token', now(), now())`,
    of,
    name,
  );
}

function readCookies(response: Response) {
  const pairs = response.headers.getSetCookie().map((one) => one.split(";")[0] ?? "");
  return pairs.filter((pair) => !pair.endsWith("=")).join("; ");
}

/** The address that the sign-in ended at, the session's cookie if there is one, and the cookies that bound it. */
async function signIn({ sub, ...claims }: Record<string, unknown>, { cookie = "", next = "" } = {}) {
  provider.person = { sub: String(sub), claims };
  const started = await startProviderSignIn(new Request(`${base}/portal/sign-in/oidc?next=${next}`));
  const bound = readCookies(started);
  const back = await provider.visit(started.headers.get("location") ?? "");
  const headers = { cookie: [bound, cookie].filter((one) => one !== "").join("; ") };
  const ended = await completeProviderSignIn(new Request(back, { headers }));
  const session = /authjs\.session-token=[^;]+/.exec(readCookies(ended))?.[0] ?? null;
  return { location: ended.headers.get("location") ?? "", session, bound, back };
}

/** A provider of keys alone, each of which has a place of its own. */
async function startMovingKeys() {
  const pairs = { old: await generateKeyPair("ES256"), new: await generateKeyPair("ES256") };
  const server = createServer(async ({ url }, response) => {
    const jwk = { ...(await exportJWK(pairs[state.place].publicKey)), kid: state.place, alg: "ES256" };
    const answers: Record<string, object> = {
      "/.well-known/openid-configuration": { jwks_uri: `${state.issuer}/${state.place}` },
      [`/${state.place}`]: { keys: [jwk] },
    };
    const answer = answers[url ?? ""];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const state = {
    place: "old" as keyof typeof pairs,
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    logOut: () =>
      new SignJWT({
        ...{ iss: state.issuer, aud: client.id, sub: "ada", jti: `${Math.random()}` },
        ...{ iat: Math.floor(Date.now() / 1_000) },
        events: { "http://schemas.openid.net/event/backchannel-logout": {} },
      })
        .setProtectedHeader({ alg: "ES256", kid: state.place })
        .sign(pairs[state.place].privateKey),
    close: () => new Promise<void>((done) => void server.close(() => done()).closeAllConnections()),
  };
  return state;
}

const person = (name: string, more: object = {}) => ({
  sub: `sub-${name}`,
  email: `${name}@${domain}`,
  email_verified: true,
  ...more,
});
const membersOf = async (email: string) =>
  query(
    `SELECT organization_id AS id, role FROM memberships JOIN users ON users.id = user_id WHERE email = $1`,
    email,
  );
const refusedWith = (code: string) => ({ location: `${base}/portal/sign-in?error=${code}`, session: null });

describe("sign-in with a provider", () => {
  beforeAll(async () => {
    test = await startTestApp(anyKind, {
      SIGN_UP: "invited",
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: client.id,
      OIDC_CLIENT_SECRET: client.secret,
      OIDC_GROUPS_CLAIM: "groups",
    });
  });
  afterAll(() => test.close());
  beforeEach(async () => {
    counter += 1;
    domain = `corp${counter}.example`;
    organizationId = (await addOwner(test.app.context, `owner@${domain}`, { name: "Corp" })) ?? "";
    await verifyDomain(organizationId, domain);
  });

  it("leads to the inbox who only approves for others", async () => {
    const email = `owner@${domain}`;
    expect((await signIn(person("owner"))).location).toBe(`${base}/portal`);
    const others = await addOwner(test.app.context, `owner@other.${domain}`, { name: "Other" });
    await query(
      `INSERT INTO approvers (id, organization_id, name, email, status) VALUES (gen_random_uuid(), $1, 'Owner', $2, 'confirmed')`,
      others,
      email,
    );
    expect((await signIn(person("owner"))).location).toBe(`${base}/portal/inbox`);
  });

  it("makes a person a member of their domain's organization, once, by PKCE, state and nonce", async () => {
    const { location, session } = await signIn(person("ada"), { next: "/portal/keys" });
    expect([location, session === null]).toEqual([`${base}/portal/keys`, false]);
    expect(await membersOf(`ada@${domain}`)).toEqual([{ id: organizationId, role: "member" }]);
    const asked = provider.requests.at(-1);
    expect(asked?.get("code_challenge_method")).toBe("S256");
    for (const name of ["code_challenge", "state", "nonce"])
      expect(asked?.get(name)?.length).toBeGreaterThan(20);
    await signIn(person("ada"));
    const events = await query(
      "SELECT action, detail FROM audit_events WHERE subject = $1 ORDER BY id",
      `ada@${domain}`,
    );
    expect(events.filter(({ action }) => action === "member.joined")).toMatchObject([
      { detail: { role: "member", by_domain: domain } },
    ]);
    const [stored] = await query("SELECT * FROM accounts WHERE provider_account_id LIKE $1", "%sub-ada");
    expect(stored).toMatchObject({ access_token: null, id_token: null, refresh_token: null });
  });

  it.each([
    { email_verified: false },
    { email_verified: undefined },
    { email_verified: "true" },
    { email: undefined },
  ])("refuses an address that the provider doesn't say it verified: %o", async (claims) => {
    expect(await signIn(person("eve", claims))).toMatchObject(refusedWith("EmailUnverified"));
    expect(await membersOf(`eve@${domain}`)).toEqual([]);
  });

  it("refuses an address elsewhere: neither takes over its account nor sits in wait for it", async () => {
    await addOwner(test.app.context, "ceo@elsewhere.example", { name: "Elsewhere" });
    for (const email of ["ceo@elsewhere.example", "next@elsewhere.example", `ada@sub.${domain}`])
      expect(await signIn(person("eve", { email }))).toMatchObject(refusedWith("DomainUnverified"));
    expect(await query("SELECT email FROM users WHERE email = 'next@elsewhere.example'")).toEqual([]);
    // A domain that was never proven, or no longer is.
    await query("UPDATE organization_domains SET verified_since = NULL WHERE domain = $1", domain);
    expect(await signIn(person("ada"))).toMatchObject(refusedWith("DomainUnverified"));
  });

  it("links the account of a verified address, and never to a second person who gets that address", async () => {
    const { session } = await signIn(person("owner", { sub: `first-${domain}` }));
    expect(session).not.toBeNull();
    expect(await membersOf(`owner@${domain}`)).toEqual([{ id: organizationId, role: "owner" }]);
    expect(await signIn(person("owner", { sub: `second-${domain}` }))).toMatchObject(
      refusedWith("OtherAccount"),
    );
    expect(await signIn(person("renamed", { sub: `first-${domain}` }))).toMatchObject(
      refusedWith("OtherAddress"),
    );
  });

  it("knows a domain in other letters than those of DNS", async () => {
    const { hostname } = new URL(`http://münchen${counter}.example`);
    await verifyDomain(organizationId, hostname);
    await signIn(person("ida", { email: `Ida@MÜNCHEN${counter}.example` }));
    const email = `ida@${hostname}`;
    expect(await membersOf(email)).toEqual([{ id: organizationId, role: "member" }]);
    expect((await signIn(person("ida", { email }))).session).not.toBeNull();
  });

  it("reads no role out of a groups claim", async () => {
    await signIn(person("mallory", { groups: ["owners", "admin"], role: "owner", roles: ["owner"] }));
    expect(await membersOf(`mallory@${domain}`)).toEqual([{ id: organizationId, role: "member" }]);
  });

  describe("with groups that an owner has mapped", () => {
    let owner: MemberPrincipal;
    let finance: string;
    beforeEach(async () => {
      owner = await signInPerson(test.app.context, `owner@${domain}`, organizationId);
      await saveGroup(test.app.context, owner, { id: null, name: "finance", memberIds: [] });
      finance = (await listApprovers(test.app.context, owner)).groups[0]?.id ?? "";
      const map = (name: string, role: Role | null, groupId: string | null) =>
        saveProviderGroup(test.app.context, owner, { name, role, groupId });
      await map("it-admins", "admin", null);
      await map("audit", "auditor", finance);
      await map("money", null, finance);
    });
    const roleOf = async (name: string) => (await membersOf(`${name}@${domain}`))[0]?.["role"];
    const placesOf = async (name: string) =>
      (await listApprovers(test.app.context, owner)).groups
        .filter(({ members }) => members.some((one) => one.name === name))
        .map((group) => group.name);

    it.each([
      [["it-admins"], "admin", []],
      [["audit"], "auditor", []],
      [["money", "unknown"], "member", ["finance"]],
      [["audit", "it-admins", "money"], "admin", ["finance"]],
      ["money", "member", ["finance"]],
      [[1, null, { name: "it-admins" }], "member", []],
      [{ 0: "it-admins" }, "member", []],
      [undefined, "member", []],
    ])("gives what is mapped and nothing else: %j makes a %s in %j", async (groups, role, places) => {
      await signIn(person("ada", { sub: `ada-${domain}`, groups, role: "owner", roles: ["owner"] }));
      expect([await roleOf("ada"), await placesOf("ada")]).toEqual([role, places]);
    });

    it("takes back at the next sign-in what a group gave, says who mapped it, and leaves what an owner gave", async () => {
      await signIn(person("ada", { sub: `ada-${domain}`, groups: ["it-admins", "money"] }));
      await signIn(person("ada", { sub: `ada-${domain}`, groups: [] }));
      expect([await roleOf("ada"), await placesOf("ada")]).toEqual(["member", []]);
      const events = await query(
        "SELECT action, detail FROM audit_events WHERE subject = $1 AND action <> 'session.started' ORDER BY id",
        `ada@${domain}`,
      );
      const mapped_by = owner.email;
      expect(events).toMatchObject([
        { action: "member.joined" },
        {
          action: "member.role_changed",
          detail: { role: "admin", by_provider_group: "it-admins", mapped_by },
        },
        {
          action: "approver_group.by_provider",
          detail: { added: [{ approver_group: "finance", provider_group: "money", mapped_by }], removed: [] },
        },
        { action: "member.role_changed", detail: { role: "member", by_provider_group: null } },
        { action: "approver_group.by_provider", detail: { added: [] } },
      ]);
      const [ada] = await query("SELECT id FROM users WHERE email = $1", `ada@${domain}`);
      await changeRole(test.app.context, owner, { userId: String(ada?.["id"]), role: "approver" });
      await signIn(person("ada", { sub: `ada-${domain}`, groups: ["it-admins"] }));
      expect(await roleOf("ada")).toBe("approver");
    });

    it("brings back no approver whom an owner has taken off, and never takes the last owner", async () => {
      await signIn(person("ada", { sub: `ada-${domain}`, groups: ["money"] }));
      const [ada] = (await listApprovers(test.app.context, owner)).people;
      await removeApprover(test.app.context, owner, ada?.id ?? "");
      await signIn(person("ada", { sub: `ada-${domain}`, groups: ["money"] }));
      expect(await placesOf("ada")).toEqual([]);
      await query("UPDATE memberships SET role_by = 'x' WHERE user_id = $1", owner.userId);
      await signIn(person("owner", { sub: `owner-${domain}`, groups: [] }));
      expect(await roleOf("owner")).toBe("owner");
    });

    it("lets only an owner map, and only to a group of their own", async () => {
      await signIn(person("ada", { sub: `ada-${domain}`, groups: ["it-admins"] }));
      const ada = await signInPerson(test.app.context, `ada@${domain}`, organizationId);
      const wish = { name: "it-admins", role: "owner", groupId: null } as const;
      await expect(saveProviderGroup(test.app.context, ada, wish)).rejects.toMatchObject({
        errorName: "forbidden",
      });
      const other = (await addOwner(test.app.context, `b@other${counter}.example`, { name: "B" })) ?? "";
      const stranger = await signInPerson(test.app.context, `b@other${counter}.example`, other);
      await saveGroup(test.app.context, stranger, { id: null, name: "theirs", memberIds: [] });
      const theirs = (await listApprovers(test.app.context, stranger)).groups[0]?.id ?? "";
      for (const groupId of ["01999999-9999-7999-8999-999999999999", theirs])
        await expect(saveProviderGroup(test.app.context, owner, { ...wish, groupId })).rejects.toMatchObject({
          errorName: "not_found",
        });
      await expect(saveProviderGroup(test.app.context, owner, { ...wish, role: null })).rejects.toThrow(
        "choose a role",
      );
    });
  });

  describe("back-channel logout", () => {
    const send = async (token: string | null) =>
      endProviderSessions(
        new Request(`${base}/api/auth/backchannel-logout`, {
          method: "POST",
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: token === null ? "" : new URLSearchParams({ logout_token: token }),
        }),
      );
    const sessionsOf = async (email: string) =>
      (await query("SELECT 1 FROM sessions JOIN users ON users.id = user_id WHERE email = $1", email)).length;

    it("ends all sessions of the person whom the provider names, and nobody else's", async () => {
      for (const name of ["ada", "ada", "bob"]) await signIn(person(name, { sub: `${name}-${domain}` }));
      expect(await sessionsOf(`ada@${domain}`)).toBe(2);
      const token = await provider.logOut(`ada-${domain}`);
      expect((await send(token)).status).toBe(200);
      expect([await sessionsOf(`ada@${domain}`), await sessionsOf(`bob@${domain}`)]).toEqual([0, 1]);
      const [event] = await query(
        "SELECT actor_kind, detail FROM audit_events WHERE action = 'session.ended' AND subject = $1",
        `ada@${domain}`,
      );
      expect(event).toEqual({ actor_kind: "system", detail: { sessions: 2 } });
      expect((await send(await provider.logOut("never-here"))).status).toBe(200);
    });

    it("ends no session that began after it, if its token is sent again", async () => {
      await signIn(person("ada", { sub: `ada-${domain}` }));
      const token = await provider.logOut(`ada-${domain}`);
      expect((await send(token)).status).toBe(200);
      await signIn(person("ada", { sub: `ada-${domain}` }));
      expect((await send(token)).status).toBe(200);
      expect(await sessionsOf(`ada@${domain}`)).toBe(1);
      expect((await send(await provider.logOut(`ada-${domain}`))).status).toBe(200);
      expect(await sessionsOf(`ada@${domain}`)).toBe(0);
    });

    it("finds the provider's keys again when they have moved", async () => {
      const { env } = test.app;
      const first = env.OIDC_ISSUER;
      const moving = await startMovingKeys();
      env.OIDC_ISSUER = moving.issuer;
      try {
        expect((await send(await moving.logOut())).status).toBe(200);
        moving.place = "new";
        vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
        expect((await send(await moving.logOut())).status, "another key elsewhere").toBe(200);
      } finally {
        vi.useRealTimers();
        env.OIDC_ISSUER = first;
        await moving.close();
      }
    });

    it("refuses what the provider didn't sign for a logout here", async () => {
      await signIn(person("ada", { sub: `ada-${domain}` }));
      const token = await provider.logOut(`ada-${domain}`);
      const [header = "", , signature = ""] = token.split(".");
      const forge = (payload: object) =>
        `${header}.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.${signature}`;
      const claims = {
        ...JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()),
        sub: "x",
      };
      const unsigned = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${token.split(".")[1]}.`;
      for (const bad of [null, "", "x", forge(claims), unsigned, `${token}x`]) {
        const answer = await send(bad);
        expect([answer.status, (await answer.json()).error]).toEqual([400, "invalid_request"]);
      }
      // An ID token is signed by the same key for the same audience.
      for (const changed of [
        { events: undefined },
        { events: { "https://schemas.openid.net/secevent/risc/event-type/account-enabled": {} } },
        { jti: undefined },
        { jti: 5 },
        { sub: undefined },
        { nonce: "n" },
        { aud: "another" },
        { iss: "https://x.example" },
        { iat: 1 },
        { iat: Math.floor(Date.now() / 1_000) + 300 },
      ])
        expect((await send(await provider.logOut(`ada-${domain}`, changed))).status).toBe(400);
      expect(await sessionsOf(`ada@${domain}`)).toBe(1);
    });

    it("ends sessions also where the provider's clock is a little ahead of this one", async () => {
      await signIn(person("ada", { sub: `ada-${domain}` }));
      const iat = Math.floor(Date.now() / 1_000) + 30;
      expect((await send(await provider.logOut(`ada-${domain}`, { iat }))).status).toBe(200);
      expect(await sessionsOf(`ada@${domain}`)).toBe(0);
    });

    it("asks for the token again where the provider's keys can't be read", async () => {
      const { env } = test.app;
      const issuer = env.OIDC_ISSUER;
      const token = await provider.logOut(`ada-${domain}`);
      env.OIDC_ISSUER = "http://127.0.0.1:1";
      const answer = await send(token);
      env.OIDC_ISSUER = issuer;
      expect(answer.status).toBe(503);
    });

    it("takes more than the limit of those that verify, and limits what doesn't", async () => {
      const { LIMIT_APPROVE_PER_MINUTE: limit } = test.app.env;
      const token = await provider.logOut(`ada-${domain}`);
      for (let i = 0; i <= limit; i += 1) expect((await send(token)).status).toBe(200);
      const refused = [];
      for (let i = 0; i <= limit; i += 1) refused.push((await send("x")).status);
      expect([refused[0], refused.at(-1)]).toEqual([400, 429]);
    });
  });

  it("doesn't link a provider's account to whoever is signed in in the browser", async () => {
    const { session } = await signIn(person("victim", { sub: `victim-${domain}` }));
    const attacker = await signIn(person("attacker", { sub: `attacker-${domain}` }), {
      cookie: session ?? "",
    });
    expect(attacker.session).not.toBe(session);
    const links = await query(
      `SELECT email, provider_account_id AS subject FROM accounts JOIN users ON users.id = user_id
        WHERE provider_account_id LIKE $1 ORDER BY email`,
      `%-${domain}`,
    );
    expect(links).toEqual([
      { email: `attacker@${domain}`, subject: `${provider.issuer} attacker-${domain}` },
      { email: `victim@${domain}`, subject: `${provider.issuer} victim-${domain}` },
    ]);
  });

  describe("what the operator's log says", () => {
    /** Lines that `work` logs: level, what it is about, and the provider's words. */
    const listen = async (work: () => Promise<unknown>) => {
      const lines: unknown[] = [];
      const { context } = test.app;
      const kept = context.logger;
      const note = (level: string) => (given: unknown, text?: string) =>
        lines.push(
          typeof given === "string" ? [level, given] : [level, text, (given as { answer?: string }).answer],
        );
      const logger = { error: note("error"), warn: note("warn"), info: note("info"), debug: () => {} };
      Object.assign(context, { logger });
      await work();
      Object.assign(context, { logger: kept });
      return lines;
    };

    it("has the provider's answer to a wrong secret", async () => {
      const { env } = test.app;
      env.OIDC_CLIENT_SECRET = "wrong";
      const lines = await listen(async () =>
        expect(await signIn(person("ada"))).toMatchObject(refusedWith("Configuration")),
      );
      env.OIDC_CLIENT_SECRET = client.secret;
      expect(lines).toEqual([["error", "sign-in", "invalid_client: client authentication failed"]]);
    });

    it("has the provider's refusal, as an error unless the person broke it off, and nothing of one that nobody asked for", async () => {
      const refuse = (error: string, cookie?: string) =>
        listen(async () => {
          const started = await startProviderSignIn(new Request(`${base}/portal/sign-in/oidc`));
          const asked = new URL(started.headers.get("location") ?? "").searchParams;
          const query = new URLSearchParams({
            error,
            error_description: "because",
            state: asked.get("state") ?? "",
            iss: provider.issuer,
          });
          const headers = { cookie: cookie ?? readCookies(started) };
          const ended = await completeProviderSignIn(new Request(`${callback}?${query}`, { headers }));
          expect(ended.headers.get("location")).toContain("/portal/sign-in?error=");
        });
      expect(await refuse("invalid_scope")).toEqual([
        ["error", "the provider refused a sign-in", "invalid_scope: because"],
      ]);
      expect(await refuse("access_denied")).toEqual([["info", "a sign-in was broken off at the provider"]]);
      const forged = await refuse("forged", "a=b");
      expect(JSON.stringify(forged)).not.toContain("forged");
    });
  });

  it.each([
    ["another tab began one since", (newer: string) => newer, true],
    ["the cookies' time is over", () => "", true],
    ["nobody asked for", () => "", false],
  ])("calls it no fault of the service's: %s", async (_, keep, hasQuery) => {
    provider.person = { sub: "ada", claims: {} };
    const begin = () => startProviderSignIn(new Request(`${base}/portal/sign-in/oidc`));
    const back = await provider.visit((await begin()).headers.get("location") ?? "");
    const headers = { cookie: keep(readCookies(await begin())) };
    const errors = vi.spyOn(test.app.context.logger, "error");
    const ended = await completeProviderSignIn(new Request(hasQuery ? back : callback, { headers }));
    expect(ended.headers.get("location")).toBe("/portal/sign-in?error=OutdatedSignIn");
    expect(errors).not.toHaveBeenCalled();
    errors.mockRestore();
  });

  it("takes no answer without the cookies of the browser that asked, nor one twice", async () => {
    const first = await signIn(person("ada"));
    for (const cookie of ["", first.bound]) {
      const again = await completeProviderSignIn(new Request(first.back, { headers: { cookie } }));
      expect(/session-token=[^;]/.test(readCookies(again))).toBe(false);
      expect(again.headers.get("location")).toContain("/portal/sign-in?error=");
    }
  });

  it("leaves out whom the organization has removed, and chooses none of two organizations", async () => {
    await signIn(person("bob"));
    const [bob] = await query("SELECT id FROM users WHERE email = $1", `bob@${domain}`);
    const owner = { kind: "user", userId: "", email: "", ip: null, session: "", organizationId } as const;
    const [ownerRow] = await query("SELECT id FROM users WHERE email = $1", `owner@${domain}`);
    await removeMember(
      test.app.context,
      { ...owner, userId: String(ownerRow?.["id"]) },
      { userId: String(bob?.["id"]), revokeKeys: true },
    );
    expect(await signIn(person("bob"))).toMatchObject(refusedWith("AccessDenied"));
    const other = (await addOwner(test.app.context, "x@other.example", { name: "Other" })) ?? "";
    await verifyDomain(other, domain);
    expect(await signIn(person("carol"))).toMatchObject(refusedWith("AccessDenied"));
    expect(await membersOf(`carol@${domain}`)).toEqual([]);
  });
});

describe("sign-in where the provider is enforced", () => {
  beforeEach(async () => {
    domain = "enforced.example";
    test = await startTestApp(anyKind, {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: client.id,
      OIDC_CLIENT_SECRET: client.secret,
      OIDC_ENFORCED: "on",
    });
    organizationId = (await addOwner(test.app.context, `owner@${domain}`, { name: "Corp" })) ?? "";
    await verifyDomain(organizationId, domain);
  });
  afterEach(() => test.close());

  it("mails no link, uses none that was mailed before, and gives no key by email", async () => {
    await expect(requestSignInLink(`owner@${domain}`, "/portal")).rejects.toMatchObject({
      errorName: "forbidden",
    });
    const link = await createSignInLink(test.app.context, `owner@${domain}`);
    const token = new URL(link ?? "").searchParams.get("token") ?? "";
    const use = (given: string) =>
      completeSignIn(new Request(base), { token: given, email: `owner@${domain}`, next: "/portal" });
    // Token as a mail had it: the same row of the database, without the operator's mark.
    const secret = test.app.context.secrets.session;
    await query(
      "INSERT INTO verification_tokens (identifier, token, expires) VALUES ($1, $2, now() + interval '10 minutes')",
      `owner@${domain}`,
      hexEncode(sha256(utf8Encode(`mailed${secret}`))),
    );
    const mailed = await use("mailed");
    expect(mailed.headers.get("location")).toBe("/portal/sign-in?error=MailedLinksOff");
    expect(mailed.headers.getSetCookie()).toEqual([]);
    expect(readCookies(await use(token))).toMatch(/session-token=[^;]/);
    for (const [path, more] of [
      ["request", {}],
      ["verify", { code: "123456" }],
    ] as const) {
      const { status, body } = await test.call("POST", `/v1/keys/${path}`, {
        body: { email: `owner@${domain}`, ...more },
      });
      expect([status, body.code]).toEqual([403, "forbidden"]);
      expect(body.detail).toContain("sign in to the portal with your company account");
    }
    expect((await signIn(person("ada"))).session).not.toBeNull();
  });
});

it("isn't there unless the settings name a provider", async () => {
  test = await startTestApp();
  for (const answer of [
    await startProviderSignIn(new Request(`${base}/portal/sign-in/oidc`)),
    await completeProviderSignIn(new Request(`${callback}?code=x&state=y`)),
  ])
    expect(answer.headers.get("location")).toBe("/portal/sign-in");
  await test.close();
});
