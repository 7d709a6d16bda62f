/** Guarantee: a passkey is enrolled by its approver alone, once, on this site, and never more than ten of them. */
import { SettingsService } from "@simplewebauthn/server";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { AppError } from "#lib/errors";
import { isRosterEntry } from "#lib/protocol/passkey/roster";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import type { Context } from "#lib/services/approvals/context";
import { deleteOrganization } from "#lib/services/portal/organization";
import { createPasskey, type Said } from "#support/authenticator";
import { addConfirmed } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { removeApprover } from "./approvers";
import { listAuditEvents } from "./audit-list";
import {
  type Approver,
  beginEnrolment,
  finishEnrolment,
  listPasskeys,
  maxPasskeys,
  removePasskey,
  renamePasskey,
} from "./passkeys";
import { readLastRoster } from "./roster";

const byMail = { kind: "human", id: "ana", ip: "192.0.2.9" } as const;

describe("passkeys of an approver", () => {
  const { test } = setupTestApp();
  let context: Context;
  let owner: MemberPrincipal;
  let ana: Approver;
  let counter = 0;
  beforeAll(async () => {
    ({ context } = test.app);
  });
  beforeEach(async () => {
    counter += 1;
    owner = await signInPerson(context, `owner${counter}@example.com`);
    ana = await approver("Ana");
  });

  const approver = (name: string) =>
    addConfirmed(test, owner, name, `${name.toLowerCase()}${counter}@example.com`);
  const list = (of = ana) => listPasskeys(context.database.db, of.id);
  const challenge = async (of = ana) => (await beginEnrolment(context, of)).challenge;
  const finish = (response: ReturnType<ReturnType<typeof createPasskey>["register"]>, of = ana) =>
    finishEnrolment(context, of, { name: "Phone", response }, byMail);
  const problemOf = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: unknown) => (error instanceof AppError ? error.errorName : String(error)),
    );

  it("asks for a discoverable credential, user verification and no attestation", async () => {
    const passkey = createPasskey();
    await finish(passkey.register(await challenge()));
    const options = await beginEnrolment(context, ana);
    expect(options).toMatchObject({
      rp: { id: "localhost", name: "Countersign" },
      user: { name: ana.email, displayName: "Ana" },
      attestation: "none",
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      excludeCredentials: [{ id: passkey.credentialId, transports: ["internal"] }],
      pubKeyCredParams: [
        { alg: -8, type: "public-key" },
        { alg: -7, type: "public-key" },
        { alg: -257, type: "public-key" },
      ],
    });
    expect(Buffer.from(options.challenge, "base64url")).toHaveLength(32);
  });

  it("says which kinds of keys can be used to a person whose device made another", async () => {
    const passkey = createPasskey({ algorithm: "ES384" });
    await expect(finish(passkey.register(await challenge()))).rejects.toThrow(
      /ES256, EdDSA, or RS256 of 2,048 to 4,096 bits can\); use another device/,
    );
    expect(await list()).toEqual([]);
  });

  it("enrols ML-DSA-44 where the runtime has it, asked for last, and refuses it in words elsewhere", async () => {
    const enrol = async () => finish(createPasskey({ algorithm: "ML-DSA-44" }).register(await challenge()));
    const runtime = vi.spyOn(SettingsService, "runtimeSupportsPQC").mockReturnValue(false);
    await expect(enrol()).rejects.toThrow("use another device");
    expect((await beginEnrolment(context, ana)).pubKeyCredParams.at(-1)?.alg).toBe(-257);
    runtime.mockReturnValue(true);
    expect((await beginEnrolment(context, ana)).pubKeyCredParams.at(-1)?.alg).toBe(-48);
    await enrol();
    expect(await list()).toHaveLength(1);
    runtime.mockRestore();
  });

  it.each(["ES256", "EdDSA", "RS256"] as const)(
    "enrols %s, and says so in the audit log",
    async (algorithm) => {
      const passkey = createPasskey({ algorithm });
      await finish(passkey.register(await challenge()));
      expect(await list()).toMatchObject([
        { name: "Phone", credentialId: passkey.credentialId, lastUsedAt: null },
      ]);
      const { rows } = await listAuditEvents(context, owner, {
        kind: undefined,
        cursor: undefined,
        limit: 9,
      });
      expect(rows[0]).toMatchObject({ action: "passkey.enrolled", subject: ana.email, actor: "ana" });
    },
  );

  it.each<[string, Said]>([
    ["another site", { origin: "https://evil.test" }],
    ["another relying party", { rpId: "evil.test" }],
    ["an assertion", { type: "webauthn.get" }],
    ["a page inside another", { crossOrigin: true }],
    ["nobody", { flags: 0x04 }],
    ["a device that was not unlocked", { flags: 0x01 }],
    ["another challenge", { challenge: "A".repeat(43) }],
    ["no challenge", { challenge: "!" }],
  ])("refuses the answer of %s, and its challenge afterwards", async (_, said) => {
    const passkey = createPasskey();
    const given = await challenge();
    expect(await problemOf(finish(passkey.register(given, said)))).toBe("passkey_refused");
    const isKept = said.challenge !== undefined;
    expect(await problemOf(finish(passkey.register(given)))).toBe(isKept ? null : "passkey_refused");
    expect(await list()).toHaveLength(isKept ? 1 : 0);
  });

  it("takes an answer once, in time, and from the approver it was given to", async () => {
    const bo = await approver("Bo");
    const passkey = createPasskey();
    const given = await challenge();
    expect(await problemOf(finish(passkey.register(given), bo))).toBe("passkey_refused");
    const answers = [1, 2, 3, 4].map(() => problemOf(finish(passkey.register(given))));
    expect((await Promise.all(answers)).sort()).toEqual([null, ...Array(3).fill("passkey_refused")].sort());
    expect(await problemOf(finish(passkey.register(await challenge())))).toBe("passkey_refused");
    const late = await challenge();
    await context.database.query("UPDATE passkey_challenges SET expires_at = now()", []);
    expect(await problemOf(finish(createPasskey().register(late)))).toBe("passkey_refused");
    expect([await list(), await list(bo)].map((all) => all.length)).toEqual([1, 0]);
  });

  it("refuses a passkey that another approver has, and bytes that are none", async () => {
    const bo = await approver("Bo");
    const passkey = createPasskey();
    await finish(passkey.register(await challenge()));
    expect(await problemOf(finish(passkey.register(await challenge(bo)), bo))).toBe("passkey_refused");
    const answer = createPasskey().register(await challenge());
    for (const clientDataJSON of ["", "e30", "bnVsbA", "!"]) {
      const broken = { ...answer, response: { ...answer.response, clientDataJSON } };
      expect(await problemOf(finish(broken))).toBe("passkey_refused");
    }
    for (const attestationObject of ["", "oA", answer.response.attestationObject.slice(0, -20)]) {
      const broken = createPasskey().register(await challenge());
      broken.response.attestationObject = attestationObject;
      expect(await problemOf(finish(broken))).toBe("passkey_refused");
    }
  });

  it("refuses an id that is too long for a roster, with which nobody could approve", async () => {
    for (const [idBytes, problem] of [
      [1_023, null],
      [1_024, "passkey_refused"],
      [3_000, "passkey_refused"],
    ] as const)
      expect(await problemOf(finish(createPasskey({ idBytes }).register(await challenge())))).toBe(problem);
    const last = await readLastRoster(context.database.db, ana.organizationId);
    expect(last?.entries.map(isRosterEntry)).toEqual([true]);
  });

  it("stops at ten, also if they come at once", async () => {
    const wanted = maxPasskeys + 4;
    const challenges = await Promise.all(Array.from({ length: wanted }, () => challenge()));
    const problems = await Promise.all(
      challenges.map((given) => problemOf(finish(createPasskey().register(given)))),
    );
    expect(problems.filter((one) => one === null)).toHaveLength(maxPasskeys);
    expect(problems.filter((one) => one === "too_many_passkeys")).toHaveLength(4);
    expect(await problemOf(challenge())).toBe("too_many_passkeys");
    const roster = await readLastRoster(context.database.db, owner.organizationId);
    expect(roster?.head.size).toBe(maxPasskeys);
    const [first] = await list();
    await removePasskey(context, ana, first?.id ?? "", byMail);
    expect(await problemOf(finish(createPasskey().register(await challenge())))).toBeNull();
  });

  it("renames and removes their own alone, and a name is no part of the roster", async () => {
    const bo = await approver("Bo");
    await finish(createPasskey().register(await challenge()));
    const [{ id } = { id: "" }] = await list();
    await renamePasskey(context, ana, { passkeyId: id, name: "Laptop" }, byMail);
    expect(await list()).toMatchObject([{ name: "Laptop" }]);
    expect((await readLastRoster(context.database.db, owner.organizationId))?.head.number).toBe(1);
    expect(await problemOf(renamePasskey(context, bo, { passkeyId: id, name: "x" }, byMail))).toBe(
      "not_found",
    );
    expect(await problemOf(removePasskey(context, bo, id, byMail))).toBe("not_found");
    await removePasskey(context, ana, id, byMail);
    expect(await problemOf(removePasskey(context, ana, id, byMail))).toBe("not_found");
  });

  it("begins for nobody whose organization was deleted meanwhile", async () => {
    await deleteOrganization(context, owner, organizationTitle(null));
    expect(await problemOf(challenge())).toBe("not_found");
  });

  it("enrols nobody who was removed meanwhile", async () => {
    const given = await challenge();
    await removeApprover(context, owner, ana.id);
    expect(await problemOf(finish(createPasskey().register(given)))).toBe("passkey_refused");
    expect(await list()).toEqual([]);
  });
});
