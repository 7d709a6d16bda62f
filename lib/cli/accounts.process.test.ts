/** `npm run accounts`: the way in where sign-up is closed or mail doesn't arrive. Whoever runs it has the database. */
import { afterEach, describe, expect, it } from "vitest";
import { expectExit } from "#support/commands";
import { databaseKinds } from "#support/databases";
import { closeHomes, makeHome, run, runBeside, start } from "#support/operator-commands";

afterEach(closeHomes);

describe.each(databaseKinds)("accounts (%s)", (kind) => {
  it("makes the first owner and a link to sign in with, and both are in the audit log", async () => {
    const home = { ...(await makeHome(kind)), SIGN_UP: "invited" };
    let test = await start(kind, home);
    const command = async (...words: string[]) => {
      const done = await runBeside(kind, test, home, ["accounts", words]);
      test = done.test;
      return done;
    };
    expect((await command("list")).out).toBe("Nobody belongs to an organization yet.\n");
    const early = await command("sign-in-link", "Ada@corp.example");
    expectExit(early, 1);
    expect(early.out).toContain("add-owner ada@corp.example changes that");

    expectExit(await command("add-owner", "Ada@corp.example", "--name", "Corp"), 0);
    const { out: stdout } = await command("list");
    const [, id = ""] = /^(\S+) owner ada@corp\.example "Corp"\n$/.exec(stdout) ?? [];
    expectExit(await command("add-owner", "bob@corp.example", "--organization", id), 0);
    expect((await command("list")).out).toContain(`${id} owner bob@corp.example "Corp"`);

    const made = await command("sign-in-link", "ada@corp.example");
    expectExit(made, 0);
    const [, link = ""] = made.out.trim().split("\n");
    const url = new URL(link);
    expect(`${url.origin}${url.pathname}`).toBe("http://localhost:3000/portal/sign-in/confirm");
    await test.query("UPDATE organizations SET second_factor = '{owners,rules}'", []);
    const end = () => command("end-second-factor", "--organization", id);
    expect((await end()).out).toContain("asks for no passkey any more");
    expect((await end()).out).toContain("Nothing has changed");
    const { query } = test.app.context.database;
    expect((await query("SELECT second_factor FROM organizations", [])).rows).toEqual([
      { second_factor: [] },
    ]);
    const stored = (await query("SELECT identifier, token FROM verification_tokens", [])).rows;
    expect(stored).toMatchObject([{ identifier: "ada@corp.example" }]);
    expect(JSON.stringify(stored)).not.toContain(url.searchParams.get("token"));
    const events = await query("SELECT action, actor FROM audit_events ORDER BY id", []);
    expect(events.rows.map(({ action, actor }) => `${action} ${actor}`)).toEqual([
      "organization.created operator",
      "member.joined operator",
      "session.link_created operator",
      "organization.second_factor operator",
    ]);
  });
});

it.each([
  [["add-owner"], "nothing is not an email address"],
  [["add-owner", "ada"], "ada is not an email address"],
  [["add-owner", "a@b.example", "c@d.example"], "c@d.example"],
  [["add-owner", "a@b.example", "--organization", "x"], "--organization: must be an id"],
  [["add-owner", "a@b.example", "--name", ""], "--name: must be"],
  [["list", "--name", "x"], "list takes no options"],
  [["remove"], "list, add-owner, sign-in-link or end-second-factor is expected, not remove"],
  [["end-second-factor"], "end-second-factor needs --organization"],
])("is refused with its usage: %j", async (words, says) => {
  const done = await run("accounts", words, {});
  expectExit(done, 2);
  expect(done.out).toContain(says);
  expect(done.out).toContain("usage: npm run accounts");
});
