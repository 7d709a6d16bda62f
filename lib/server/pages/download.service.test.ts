import { beforeAll, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { removeMember } from "#lib/services/portal/organization";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { answerDownload } from "./feed-answer";

const { test } = setupTestApp();
let owner: MemberPrincipal;
beforeAll(async () => {
  owner = await signInPerson(test.app.context, "owner@example.com");
});

const addMember = (email: string) => joinPerson(test.app.context, email, owner.organizationId);

/** A file of three parts; before each but the first `pass` is awaited, and a minute passes. */
function download(person: MemberPrincipal, pass: () => Promise<unknown> = async () => {}) {
  const { database, clock } = test.app.context;
  let passedMs = 0;
  const later = () => new Date(clock().getTime() + passedMs);
  let isEnded = false;
  async function* write() {
    try {
      yield "one";
      for (const part of ["two", new TextEncoder().encode("three")]) {
        await pass();
        passedMs += 60_000;
        yield part;
      }
    } finally {
      isEnded = true;
    }
  }
  const asking = { context: { database, clock: later }, person };
  const response = answerDownload(asking, "all.csv", "text/csv", write());
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("the answer has a body");
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  return { response, read, isEnded: () => isEnded };
}

it("sends a file part by part, to keep under its name", async () => {
  const { response, read } = download(await addMember("member@example.com"));
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="all.csv"');
  expect([await read(), await read(), await read(), await read()]).toEqual(["one", "two", "three", ""]);
});

it("ends in an error, before the next part, for a member who is removed meanwhile", async () => {
  const member = await addMember("removed@example.com");
  let remove = () => {};
  const isRemoved = new Promise<void>((resolve) => {
    remove = resolve;
  });
  const { read, isEnded } = download(member, () => isRemoved);
  expect(await read()).toBe("one");
  await removeMember(test.app.context, owner, { userId: member.userId, revokeKeys: false });
  remove();
  await expect(read()).rejects.toMatchObject({ errorName: "not_found" });
  expect(isEnded()).toBe(true);
});
