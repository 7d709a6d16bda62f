/** Registered identities (docs/wire.md, Agents). */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import unhomoglyph from "unhomoglyph";
import { describe, expect, it } from "vitest";
import { sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

function newKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return {
    privateKey,
    pem: publicKey.export({ format: "pem", type: "spki" }).toString(),
    raw: raw.toString("base64"),
  };
}

const possession = (slug: string, raw: string, key: KeyObject) =>
  sign(null, Buffer.from(`countersign-key-possession:${slug}:${raw}`), key).toString("base64");

describe("identities", () => {
  const { test, key, stranger } = setupTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "10000" });
  const register = (body: JsonObject, as = key) =>
    test.call("POST", "/v1/identity/register", { key: as, body });
  const patch = (slug: string, body: JsonObject, as = key) =>
    test.call("PATCH", `/v1/identity/${slug}`, { key: as, body });
  const read = async (slug: string) => (await test.call("GET", `/v1/identity/${slug}`)).body;
  const attest = async (slug: string, more: JsonObject, privateKey?: KeyObject) => {
    const body: JsonObject = { agent_slug: slug, action: "a", inputs_hash: "b", ...more };
    const signature =
      privateKey && sign(null, canonicalBytes(signedRequest(body)), privateKey).toString("base64");
    const answer = await test.call("POST", "/v1/attest", {
      key,
      body: { ...body, ...(signature && { agent_signature: signature }) },
    });
    expect(answer.status).toBe(201);
    return answer.body;
  };

  it("registers with 201, updates the caller's own with 200, and refuses another's", async () => {
    const made = await register({
      slug: "Reg-1",
      name: "R",
      description: "d",
      model_id: "m",
      code_hash: "c",
      tools: ["b", "a"],
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      slug: "Reg-1",
      key_status: "none",
      public_key: null,
      tools: ["b", "a"],
      code_hash: "c",
    });
    const updated = await register({ slug: "reg-1", name: "R2" });
    expect([updated.status, updated.body.slug, updated.body.name, updated.body.description]).toEqual([
      200,
      "Reg-1",
      "R2",
      "d",
    ]);
    const taken = await register({ slug: "REG-1" }, stranger);
    expect([taken.status, taken.body.code, taken.body.errors[0].pointer]).toEqual([
      422,
      "agent_slug_taken",
      "/slug",
    ]);
  });

  it("shows a key as unproven until a proof of possession", async () => {
    const agent = newKey();
    expect((await register({ slug: "pop", public_key_pem: agent.pem })).body).toMatchObject({
      key_status: "unproven",
      public_key: agent.raw,
    });
    const bad = [
      possession("other", agent.raw, agent.privateKey),
      possession("pop", agent.raw, newKey().privateKey),
      `${"A".repeat(85)}B==`,
      "x",
    ];
    for (const proof_of_possession of bad) {
      const { status, body } = await patch("pop", { proof_of_possession });
      expect([status, body.errors[0].pointer]).toEqual([422, "/proof_of_possession"]);
    }
    expect((await read("pop")).key_status).toBe("unproven");
    const proof = possession("pop", agent.raw, agent.privateKey);
    expect((await patch("pop", { proof_of_possession: proof })).body.key_status).toBe("proven");
    const other = newKey();
    const at = await register({
      slug: "pop2",
      public_key: other.raw,
      proof_of_possession: possession("pop2", other.raw, other.privateKey),
    });
    expect([at.status, at.body.key_status, at.body.key_history.length]).toEqual([201, "proven", 1]);
    const { body } = await register({ slug: "pop3", proof_of_possession: proof });
    expect(body.errors[0].pointer).toBe("/proof_of_possession");
  });

  it("proves a key by its first signature that verifies, not by one that does not", async () => {
    const agent = newKey();
    await register({ slug: "first", public_key: agent.raw });
    expect((await attest("first", {}, newKey().privateKey)).agent_authenticated).toBe(false);
    expect((await read("first")).key_status).toBe("unproven");
    expect((await attest("first", { metadata: { nonce: 1 } }, agent.privateKey)).agent_authenticated).toBe(
      true,
    );
    const { key_status, key_history } = await read("first");
    expect([key_status, key_history[0].status]).toEqual(["proven", "proven"]);
    expect(key_history[0].proven_at).not.toBeNull();
  });

  it("keeps a key's history through rotation and clearing; a field left out stays, null clears", async () => {
    const [one, two] = [newKey(), newKey()];
    await register({ slug: "hist", public_key: one.raw, name: "N", code_hash: "c" });
    expect((await patch("hist", { public_key: one.raw })).body.key_history).toHaveLength(1);
    expect((await patch("hist", { public_key_pem: two.pem, name: null })).body).toMatchObject({
      public_key: two.raw,
      name: null,
      code_hash: "c",
    });
    const { body } = await patch("hist", { public_key: null });
    expect(body).toMatchObject({ public_key: null, public_key_pem: null, key_status: "none" });
    expect(body.key_history.map(({ public_key }: { public_key: string }) => public_key)).toEqual([
      one.raw,
      two.raw,
    ]);
    for (const entry of body.key_history) expect(entry.retired_at).not.toBeNull();
  });

  it("takes null for absent when an agent is registered again", async () => {
    const { raw } = newKey();
    const given = { name: "R", description: "d", model_id: "m", code_hash: "c", public_key: raw };
    await register({ slug: "again-1", ...given });
    const nulls = Object.fromEntries(Object.keys(given).map((name) => [name, null]));
    expect((await register({ slug: "again-1", ...nulls, tools: null })).status).toBe(200);
    expect(await read("again-1")).toMatchObject(given);
  });

  it("keeps one active key when registrations race", async () => {
    const keys = Array.from({ length: 6 }, newKey);
    await register({ slug: "race" });
    await Promise.all(keys.map(({ raw }) => register({ slug: "race", public_key: raw })));
    const { key_history, public_key } = await read("race");
    const active = key_history.filter(({ retired_at }: { retired_at: string | null }) => retired_at === null);
    expect(active.map((entry: { public_key: string }) => entry.public_key)).toEqual([public_key]);
  });

  it("replaces the tool manifest, by its hash", async () => {
    await register({ slug: "tools" });
    const put = (body: unknown, as = key) => test.call("PUT", "/v1/identity/tools/tools", { key: as, body });
    const { status, body } = await put({ tools: ["pay", "read"], tool_descriptions: { pay: "pays" } });
    expect(status).toBe(200);
    const manifest = '{"tool_descriptions":{"pay":"pays"},"tools":["pay","read"]}';
    const hash = Buffer.from(sha256(new TextEncoder().encode(manifest))).toString("hex");
    expect(body).toEqual({ agent_slug: "tools", tool_manifest_hash: hash, tools: ["pay", "read"] });
    expect(await read("tools")).toMatchObject({
      tool_manifest_hash: hash,
      tools: ["pay", "read"],
      tool_descriptions: { pay: "pays" },
    });
    for (const bad of [
      {},
      { tools: "pay" },
      { tools: ["a", "a"] },
      { tools: [""] },
      { tools: [], extra: 1 },
      { tools: Array.from({ length: 257 }, (_, i) => `t${i}`) },
    ])
      expect((await put(bad)).status).toBe(422);
  });

  it("applies a change to later attestations only; old verdicts still verify", async () => {
    const [one, two] = [newKey(), newKey()];
    await register({ slug: "later", public_key: one.raw, code_hash: "c1", tools: ["pay"] });
    const facts = { code_hash: "c1", tools_used: ["pay"] };
    const before = await attest("later", { ...facts, metadata: { n: 1 } }, one.privateKey);
    await patch("later", { public_key: two.raw, code_hash: "c2" });
    await test.call("PUT", "/v1/identity/later/tools", { key, body: { tools: ["read"] } });
    const after = await attest("later", { ...facts, metadata: { n: 2 } }, one.privateKey);
    const verdictsOf = (from: Record<string, unknown>) => [
      from["agent_authenticated"],
      from["code_hash_verified"],
      from["tools_authorized"],
    ];
    expect([verdictsOf(before), verdictsOf(after)]).toEqual([
      [true, true, true],
      [false, false, false],
    ]);
    for (const { attestation_id } of [before, after])
      expect((await test.call("GET", `/v1/verify/${attestation_id}`)).body.valid).toBe(true);
  });

  it("name the agents whose slugs look alike, on each other's pages, the oldest first", async () => {
    const lookAlikes = async (slug: string) => {
      const { status, body } = await test.call("GET", `/v1/agent/${slug}`);
      expect(status, JSON.stringify(body)).toBe(200);
      return body.look_alikes;
    };
    const alike = ["Modern-Wallet", "Modem-WaIIet", "modern_vvallet", "M0dern.wa11et", "modern--wallet."];
    for (const slug of alike.slice(0, 1)) await register({ slug });
    expect(await lookAlikes("modern-wallet")).toEqual([]);
    for (const slug of alike.slice(1)) await register({ slug }, stranger);
    for (const slug of ["modern-wallets", "modernwallet", "modern-valet"]) await register({ slug }, stranger);
    for (const slug of alike)
      expect(await lookAlikes(slug), slug).toEqual(alike.filter((other) => other !== slug));
    expect(await lookAlikes("modern-wallets")).toEqual([]);
    for (let n = 1; n <= 10; n += 1) await register({ slug: `modern${"-".repeat(n)}w4llet` }, stranger);
    const listed = await lookAlikes("modern----------w4llet");
    expect([listed.length, listed[0]]).toEqual([9, "modern-w4llet"]);
    await register({ slug: "modern_w4llet" }, stranger);
    await register({ slug: "modern.w4llet" }, stranger);
    expect(await lookAlikes("modern.w4llet")).toHaveLength(10);
  });

  it("take characters for one another that Unicode takes for one another in slugs", async () => {
    const slugCharacters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"];
    const { rows } = await test.query(
      "SELECT slug_skeleton(lower(c)) AS skeleton FROM unnest(string_to_array($1, ',')) WITH ORDINALITY AS t(c, n) ORDER BY n",
      [slugCharacters.join(",")],
    );
    const skeletons = rows.map((row) => row["skeleton"]);
    const unicode = slugCharacters.map((character) => unhomoglyph(character));
    const pairs = slugCharacters.flatMap((one, at) =>
      slugCharacters
        .slice(0, at)
        .flatMap((other, before) => (unicode[at] === unicode[before] ? [[other, one]] : [])),
    );
    expect(pairs).toEqual(
      expect.arrayContaining([
        ["I", "l"],
        ["l", "1"],
        ["O", "0"],
      ]),
    );
    const apart = pairs.filter(
      ([one = "", other = ""]) =>
        skeletons[slugCharacters.indexOf(one)] !== skeletons[slugCharacters.indexOf(other)],
    );
    expect(apart).toEqual([]);
    expect(skeletons[slugCharacters.indexOf("m")]).toBe(unhomoglyph("m"));
  });
});
