/**
 * A pack whose holder cuts the newest entries and makes everything else again, with the code that makes packs: head,
 * report, manifest and archive fit each other. What only the service can sign is what it cannot make.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { hexDecode, hexEncode, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { toByteSource } from "#lib/protocol/encoding/zip";
import { encodePackJson, numberedFile, packFiles } from "#lib/protocol/pack/pack-manifest";
import { emptyRecord, extendRecord } from "#lib/protocol/record/agent-record";
import { collect, forge, type Json, type PackedFiles, parse, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { runHere } from "#support/verifier-run";
import { makeEvidencePack } from "./pack";

const slug = "cut-bot";
const dayMs = 86_400_000;
const recordFile = numberedFile("record", 1);
const statementsFile = numberedFile("statements", 1);
const fileOf = (number: number) => numberedFile("attestations", number);

describe("an evidence pack that was cut", () => {
  const { test } = setupTestApp();
  let person: MemberPrincipal;
  let key: string;
  let keys: Json;
  const period = (fromDays: number, toDays: number) => ({
    from: new Date(Date.now() + fromDays * dayMs).toISOString(),
    to: new Date(Date.now() + toDays * dayMs).toISOString(),
  });

  const attest = async (more: object = {}, agent_slug = slug) => {
    const body = { agent_slug, action: "Paid", inputs_hash: "abc", ...more };
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
  };
  const make = async (of: { from: string; to: string }, agentSlug = slug) =>
    unpack(
      await collect(
        (
          await makeEvidencePack(test.app.context, person, {
            agentSlugs: [agentSlug],
            period: of,
            withPrivate: true,
          })
        ).parts,
      ),
    );
  /** With the service's keys pinned, as an auditor would. */
  const verify = async (files: PackedFiles) => {
    const bytes = await forge(files, true);
    return runHere(["pack", "pack.zip", "--keys", "keys.json"], {
      readFile: async () => utf8Encode(JSON.stringify(keys)),
      openFile: async () => ({ ...toByteSource(bytes), close: () => {} }),
      isFile: async () => true,
      readProgram: async () => files.get(packFiles.verifier) ?? null,
    });
  };
  const change = (files: PackedFiles, name: string, changed: (json: Json) => Json) =>
    files.set(name, encodePackJson(changed(parse(files, name))));

  /** The newest entries gone, and every head set back to where the others lead. */
  function cutTo(files: PackedFiles, count: number): PackedFiles {
    const record = parse(files, recordFile);
    const entries = record.entries.slice(0, count);
    let head = emptyRecord(record.agent_id);
    for (const { payload_hash } of entries) head = extendRecord(head, hexDecode(payload_hash));
    const cut = { sequence: head.sequence, link: hexEncode(head.link) };
    for (const { sequence } of record.entries.slice(count)) files.delete(fileOf(sequence));
    for (const name of [packFiles.after, packFiles.newest]) files.delete(name);
    change(files, recordFile, (page) => ({ ...page, entries, head: cut, next: null }));
    for (const { sequence } of entries)
      if (files.has(fileOf(sequence)))
        change(files, fileOf(sequence), (answer) => ({
          ...answer,
          record_neighbours: {
            ...answer.record_neighbours,
            head: cut,
            after: sequence === count ? null : answer.record_neighbours.after,
          },
        }));
    return files;
  }
  const withoutSnapshot = (files: PackedFiles) => {
    files.delete(packFiles.rows);
    return change(files, recordFile, ({ snapshot: _, ...page }) => page);
  };
  const cutStatements = (files: PackedFiles) =>
    change(files, statementsFile, ({ statements }) => ({
      statements: statements.slice(
        0,
        statements.findIndex(({ kind }: Json) => kind === "agent_heads"),
      ),
      next: null,
    }));
  const expectNotCounted = ({ code, out }: { code: number; out: string }) => {
    expect([code, out.match(/FAIL.*/g)]).toEqual([3, null]);
    expect(out).toContain("not counted");
    expect(out).not.toMatch(/nothing of its period is missing|none missing/);
  };

  beforeAll(async () => {
    const made = await test.createKey();
    key = made.key;
    person = await signInPerson(test.app.context, "dev@example.com", made.organizationId);
    for (const action of ["First", "Second", "Third"]) await attest({ action });
    keys = (await test.call("GET", "/v1/pubkey")).body;
  });

  it("holds uncut: its making has the record counted, and its period ends there", async () => {
    const { code, out } = await verify(await make(period(-7, 1)));
    expect([code, out.match(/FAIL.*/g)]).toEqual([0, null]);
    expect(out).toContain("nothing of its period is missing");
  });

  it("is not counted without its newest entries, its snapshot and the statements about it", async () => {
    for (const count of [2, 0]) {
      const cut = withoutSnapshot(cutTo(await make(period(-7, 1)), count));
      expectNotCounted(await verify(cutStatements(cut)));
      const html = utf8Decode(unpack(await forge(cut, true)).get(packFiles.report) ?? new Uint8Array());
      expect(html).not.toContain("all entries of the period");
      expect(html).toContain(`That number ${count} is the last entry of the period`);
    }
  });

  it("is not counted by a count that was made before its period ended", async () => {
    const early = await make(period(-7, 1));
    await attest({ action: "Fourth" });
    await attest({ action: "Fifth" });
    const late = (manifest: Json) => ({ ...manifest, period: { ...manifest.period, to: period(0, 1).to } });
    expectNotCounted(await verify(change(early, packFiles.manifest, late)));
  });

  it("has a count of exactly its head: an entry that came meanwhile stays in view", async () => {
    const files = await make(period(-7, 1));
    const failed = await verify(cutTo(files, 2));
    expect([failed.code, failed.out]).toEqual([1, expect.stringContaining("FAIL  record snapshot")]);
  });

  it("does not lose the end of the list of statements, nor its count, though an entry follows the period", async () => {
    const of = period(-7, 1);
    const first = parse(await make(of), fileOf(1));
    const short = { ...of, to: JSON.parse(parse(await make(of), fileOf(2)).payload).predicate.timestamp };
    expect(JSON.parse(first.payload).predicate.timestamp < short.to).toBe(true);
    expect((await verify(await make(short))).code).toBe(0);
    const silent = await verify(cutStatements(withoutSnapshot(await make(short))));
    expect([silent.code, silent.out.match(/FAIL.*/g)]).toEqual([3, null]);
    for (const hasRows of [true, false]) {
      const files = cutStatements(await make(short));
      if (!hasRows) files.delete(packFiles.rows);
      const { code, out } = await verify(files);
      expect([code, out]).toEqual([1, expect.stringContaining("does not have the count itself")]);
    }
  });

  it("cannot end before it begins", async () => {
    const of = period(-7, 1);
    const files = await make(of);
    const turned = (manifest: Json) => ({ ...manifest, period: { from: of.to, to: of.from } });
    // All entries "before", none inside, none after.
    files.set(packFiles.before, files.get(fileOf(5)) ?? new Uint8Array());
    for (const number of [1, 2, 3, 4, 5]) files.delete(fileOf(number));
    const { code, out } = await verify(change(files, packFiles.manifest, turned));
    expect([code, out]).toEqual([1, expect.stringContaining("ends before it begins")]);
  });

  it("is not another agent's under this one's name, nor padded with entries of another time", async () => {
    const files = await make(period(-7, 1));
    const renamed = await verify(change(files, recordFile, (page) => ({ ...page, slug: "clean-bot" })));
    expect([renamed.code, renamed.out]).toEqual([1, expect.stringContaining("is of the agent cut-bot")]);
    const padded = await make(period(-7, 1));
    const later = (manifest: Json) => ({
      ...manifest,
      period: { from: period(-7, 0).from, to: period(-6, 0).from },
    });
    const { code, out } = await verify(change(padded, packFiles.manifest, later));
    expect([code, out]).toEqual([1, expect.stringMatching(/number 1, of 20.*, is not of the period/)]);
  });

  it("names no agent if nothing in it is public and all content was kept out", async () => {
    await attest({ is_public: false }, "veiled-bot");
    const request = { agentSlugs: ["veiled-bot"], period: period(-7, 1), withPrivate: false };
    const { parts } = await makeEvidencePack(test.app.context, person, request);
    const { code, out } = await verify(unpack(await collect(parts)));
    expect([code, out]).toEqual([3, expect.stringContaining("nothing signed in this pack names the agent")]);
  });

  it("of an agent without entries is not counted, and one of days to come is not made", async () => {
    const registered = { key, body: { slug: "quiet-bot" } };
    expect((await test.call("POST", "/v1/identity/register", registered)).status).toBe(201);
    expectNotCounted(await verify(await make(period(-7, 1), "quiet-bot")));
    await expect(make(period(2, 3))).rejects.toMatchObject({ errorName: "validation_error" });
  });
});
