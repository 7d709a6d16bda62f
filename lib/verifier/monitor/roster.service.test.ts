/** Guarantee: an organization's monitor sees every change of who may approve, and a roster that was taken back or forked. */
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { rememberPeer } from "#lib/api/http/rate-limit";
import { utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { parseRosterStatement } from "#lib/protocol/passkey/roster";
import { dispatch } from "#lib/server/operations";
import { type Approver, beginEnrolment, finishEnrolment } from "#lib/services/accounts/passkeys";
import { createPasskey } from "#support/authenticator";
import { addConfirmed } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { runVerifier } from "#support/verifier-run";

// biome-ignore lint/suspicious/noExplicitAny: a list of statements as it comes, to be changed
type Listed = any;
type Lie = (statements: Listed[]) => Listed[];

const base = "http://localhost";
const other = "019a0000-0000-7000-8000-0000000000ff";

describe("verify.mjs monitor --organization", () => {
  const { test } = setupTestApp();
  let owner: MemberPrincipal;
  let ana: Approver;
  let files: Map<string, string>;
  beforeAll(async () => {
    owner = await signInPerson(test.app.context, "owner@example.com");
    ana = await addConfirmed(test, owner, "Ana", "ana@example.com");
    files = new Map([["keys.json", JSON.stringify((await test.call("GET", "/v1/pubkey")).body)]]);
  });

  async function enrol(): Promise<string> {
    const { context } = test.app;
    const { challenge } = await beginEnrolment(context, ana);
    const response = createPasskey().register(challenge);
    await finishEnrolment(context, ana, { name: "Phone", response }, { kind: "human", id: "ana", ip: null });
    const { key } = await test.createKey("owner@example.com");
    return (await test.call("GET", "/v1/roster", { key })).body.roster.hash;
  }

  async function monitor(words: string[] = [], lie: Lie = (all) => all, organization = owner.organizationId) {
    const send = async (url: string | URL | Request) => {
      test.use();
      const request = new Request(String(url));
      rememberPeer(request, "127.0.0.1");
      const answer = await dispatch(request);
      const bytes = new Uint8Array(await answer.arrayBuffer());
      if (!String(url).includes("/v1/log/statements")) return new Response(bytes, { status: answer.status });
      const list = JSON.parse(utf8Decode(bytes));
      const statements = lie(list.statements).map((one, i) => ({ ...one, number: i + 1 }));
      return new Response(JSON.stringify({ ...list, statements }));
    };
    const argv = ["monitor", base, "--keys", "keys.json", "--organization", organization, ...words];
    return runVerifier(argv, send, files);
  }
  /** 3: the service has signed no count yet. */
  const holding = 3;
  const isRoster = ({ payload }: Listed) => parseRosterStatement(utf8Encode(payload)) !== null;

  it("alarms at each change until somebody accepts it", async () => {
    expect(await monitor()).toMatchObject({ code: holding, out: expect.stringContaining("no roster yet") });
    const first = await enrol();
    for (let run = 0; run < 2; run += 1) {
      const { code, out } = await monitor();
      expect(code).toBe(1);
      expect(out).toContain(`accept it with --roster ${first}`);
      expect(out).toContain("Who may approve is not as expected.");
    }
    expect(files.has("countersign-proof.json")).toBe(false);
    expect((await monitor(["--roster", "0".repeat(64)])).out).toContain(`the newest is number 1, ${first}`);
    expect((await monitor(["--roster", first])).code).toBe(holding);
    expect(await monitor()).toMatchObject({ code: holding, out: expect.stringContaining(`roster 1 of `) });
    const second = await enrol();
    expect((await monitor(["--roster", first])).code).toBe(1);
    expect((await monitor(["--roster", second])).code).toBe(holding);
    expect((await monitor([], undefined, other)).out).toContain("no roster yet");
    expect((await monitor()).code).toBe(holding);
  });

  it("fails where a roster is missing, forked or taken back", async () => {
    const dropped: [Lie, number][] = [
      [(all) => all.filter((one) => !isRoster(one)), 2],
      [(all) => all.filter((one, i) => !(isRoster(one) && isRoster(all[i + 1] ?? one))), 1],
      [(all) => [...all, ...all.filter(isRoster).slice(-1)], 3],
    ];
    for (const [lie, number] of dropped) {
      const { code, out } = await monitor([], lie);
      expect(code).toBe(1);
      expect(out).toMatch(new RegExp(`roster ${number} of the organization is missing|statement|entry`));
    }
    const forged: Lie = (all) =>
      all.map((one) => (isRoster(one) ? { ...one, signature: `${"A".repeat(86)}==` } : one));
    expect((await monitor([], forged)).out).toContain("roster 1 of the organization is missing");
  });

  it("refuses words that it can't follow", async () => {
    expect((await monitor(["--roster", "x"])).code).toBe(2);
    expect((await monitor([], undefined, "acme")).code).toBe(2);
  });
});
