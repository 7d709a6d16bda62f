/** Files of a pack are read before anything about them is known: each becomes a finding, whatever stands in it. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { readZip, toByteSource } from "#lib/protocol/encoding/zip";
import { PACK_VERSION } from "#lib/protocol/pack/pack-manifest";
import { parseTrust } from "#lib/verifier/checks/trust";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { pack, parse, unpack } from "#support/packs";
import { createPartReader } from "./read-entry";

// biome-ignore lint/suspicious/noExplicitAny: a receipt, changed in every way
type Json = any;

const golden = (name: string): Json => JSON.parse(readFileSync(`public/vectors/1.0.0/${name}.json`, "utf8"));
const trust = parseTrust(golden("keys"));

async function read(name: string, json: Json): Promise<string> {
  const source = toByteSource(await pack(new Map([[name, utf8Encode(JSON.stringify(json))]])));
  const { files } = await readZip(source, nodeIo.zip, { maxFileBytes: 2 ** 20, maxBytes: 2 ** 20 });
  const style = { slug: "bot", isOfSeveral: false, version: PACK_VERSION, withRows: true } as const;
  const [found] = (await createPartReader(source, nodeIo.zip, trust)(files, style)).files;
  if (found === undefined || "problem" in found.found) return "unreadable";
  return found.found.checked.ok ? "holds" : "fails";
}

/** Each place of it, with another value there. */
function* listChanges(value: Json, other: Json): Generator<[place: string, changed: Json]> {
  for (const [key, member] of Object.entries(value)) {
    const put = (changed: Json) =>
      Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed };
    yield [key, put(other)];
    if (typeof member !== "object" || member === null) continue;
    for (const [place, changed] of listChanges(member, other)) yield [`${key}.${place}`, put(changed)];
  }
}

const others = [null, {}, [{}], "", 0];

it("says that an attestation holds, fails or can't be read, whatever its approval has in any place", async () => {
  const name = "attestations/000000000001.json";
  const approved = golden("enrolled-approved");
  const { human_authorization: approval } = approved;
  expect(await read(name, approved)).toBe("holds");
  for (const other of others)
    for (const [place, changed] of listChanges(approval, other))
      if (JSON.stringify(changed) !== JSON.stringify(approval))
        expect(await read(name, { ...approved, human_authorization: changed }), place).not.toBe("holds");
});

it("says the same of a decision, whatever it has in any place", async () => {
  const files = unpack(readFileSync("public/vectors/conformance/pack/planted-requests.zip"));
  const decisions = [...files.keys()].filter((name) => name.startsWith("decisions/"));
  expect(decisions).not.toEqual([]);
  for (const name of decisions)
    for (const other of others)
      for (const [place, changed] of listChanges(parse(files, name), other))
        expect(["holds", "fails", "unreadable"], place).toContain(await read(name, changed));
});
