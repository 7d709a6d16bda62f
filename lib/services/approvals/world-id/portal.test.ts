import { describe, expect, it } from "vitest";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import {
  hashToField,
  type WorldProofV3,
  type WorldProofV4,
  wordHex,
} from "#lib/protocol/world-id/world-id-proof";
import { makeTrapdoorKey } from "#support/groth16";
import type { WorldChain } from "./chain";
import { createPortalProvider } from "./portal";

const v3: WorldProofV3 = {
  protocol_version: "3.0",
  app_id: "app_x",
  rp_id: "rp_00000000000000ff",
  nonce: wordHex(1n),
  level: "device",
  nullifier_hash: wordHex(2n),
  merkle_root: wordHex(3n),
  proof: "0xab",
};
const v4: WorldProofV4 = {
  ...v3,
  protocol_version: "4.0",
  level: "proof_of_human",
  proof: [1n, 2n, 3n, 4n, 3n].map(wordHex),
  issuer_schema_id: 1,
  expires_at_min: 99,
};
const stored = { world_action: "authz-x", signal_hash: wordHex(7n) };

function providerOf(
  reply: (url: string, init: RequestInit | undefined) => Response | Promise<Response>,
  environment: WorldEnvironment = "production",
  chain?: WorldChain,
) {
  return createPortalProvider({
    environment,
    idkitConfig: { app_id: "app_x", environment: environment === "production" ? "production" : "staging" },
    rpId: "rp_00000000000000ff",
    rpSigningKeyHex: "22".repeat(32),
    portalUrl: "https://portal.test",
    fetch: (async (url, init) => reply(String(url), init)) as typeof fetch,
    v4KeyJson: makeTrapdoorKey(15).json,
    ...(chain && { chain }),
  });
}

const ok = (...results: object[]) => Response.json({ success: true, nullifier: wordHex(2n), results });

describe("verifyWithPortal", () => {
  it("reads no more of an answer than World has to say", async () => {
    let sent = 0;
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 16_384;
        controller.enqueue(new Uint8Array(16_384).fill(0x20));
        if (sent > 1_000_000) controller.close();
      },
      cancel: () => {
        isCancelled = true;
      },
    });
    const verdict = providerOf(() => new Response(endless)).verifyWithPortal(v3, stored);
    await expect(verdict).rejects.toMatchObject({ errorName: "service_unavailable" });
    expect([isCancelled, sent < 200_000]).toEqual([true, true]);
  });

  it("sends what is stored, the environment and the signal hash included", async () => {
    const sent: unknown[] = [];
    const provider = providerOf((url, init) => {
      sent.push(url, JSON.parse(String(init?.body)));
      return ok({ identifier: "device", success: true, nullifier: wordHex(2n) });
    }, "staging");
    expect(await provider.verifyWithPortal(v3, stored)).toEqual({ ok: true });
    expect(sent).toEqual([
      "https://portal.test/api/v4/verify/rp_00000000000000ff",
      {
        protocol_version: "3.0",
        nonce: wordHex(1n),
        action: "authz-x",
        environment: "staging",
        responses: [
          {
            identifier: "device",
            signal_hash: wordHex(7n),
            nullifier: wordHex(2n),
            proof: "0xab",
            merkle_root: wordHex(3n),
          },
        ],
      },
    ]);
  });

  it("sends v4's issuer and expiry, and reads a nullifier in any spelling", async () => {
    const provider = providerOf((_url, init) => {
      const [response] = JSON.parse(String(init?.body)).responses;
      expect(response).toMatchObject({ issuer_schema_id: 1, expires_at_min: 99, proof: v4.proof });
      return ok({ identifier: "proof_of_human", success: true, nullifier: "2" });
    });
    expect(await provider.verifyWithPortal(v4, stored)).toEqual({ ok: true });
  });

  it("takes no 200 for an approval unless our own item is in it and valid", async () => {
    const cases: [string, Response][] = [
      ["identifier_missing", ok()],
      ["identifier_missing", ok({ identifier: "orb", success: true, nullifier: wordHex(2n) })],
      [
        "invalid_proof",
        ok(
          { identifier: "orb", success: true },
          { identifier: "device", success: false, code: "invalid_proof" },
        ),
      ],
      ["nullifier_mismatch", ok({ identifier: "device", success: true, nullifier: wordHex(9n) })],
      ["nullifier_mismatch", ok({ identifier: "device", success: true })],
      ["refused", Response.json({ success: false, results: [] })],
    ];
    for (const [code, response] of cases) {
      expect(await providerOf(() => response).verifyWithPortal(v3, stored)).toMatchObject({
        ok: false,
        code,
      });
    }
  });

  it("passes World's refusal on with its code", async () => {
    const refuse = (body: object) =>
      providerOf(() => Response.json(body, { status: 400 })).verifyWithPortal(v3, stored);
    expect(await refuse({ code: "rp_not_active", detail: "no" })).toEqual({
      ok: false,
      code: "rp_not_active",
      detail: "no",
    });
    const results = [{ identifier: "device", success: false, code: "root_too_old", detail: "old" }];
    expect(await refuse({ code: "all_verifications_failed", results })).toEqual({
      ok: false,
      code: "root_too_old",
      detail: "old",
    });
  });

  it("throws service_unavailable where World gave no answer", async () => {
    const replies = [
      () => Promise.reject(new TypeError("fetch failed")),
      () => Response.json({ success: true }, { status: 500 }),
      () => Response.json({}, { status: 429 }),
      () => new Response("<html>", { status: 200 }),
      () => new Response("", { status: 502 }),
      () => Response.json({ success: "yes" }),
    ];
    for (const reply of replies) {
      await expect(providerOf(reply).verifyWithPortal(v3, stored)).rejects.toMatchObject({
        errorName: "service_unavailable",
      });
    }
  });
});

describe("checkRoot", () => {
  const unused = () => Response.json({});
  const chain: WorldChain = {
    anchorOrbV3: async () => ({ status: "not_on_chain", detail: "orb asked" }),
    anchorV4: async () => ({ status: "not_on_chain", detail: "v4 asked" }),
  };

  it("asks the chain for production's Orb and v4 roots, and says why it does not for others", async () => {
    const production = providerOf(unused, "production", chain);
    expect(await production.checkRoot({ ...v3, level: "orb" })).toMatchObject({ detail: "orb asked" });
    expect(await production.checkRoot(v4)).toMatchObject({ detail: "v4 asked" });
    for (const [provider, proof] of [
      [production, v3],
      [providerOf(unused), v4],
      [providerOf(unused, "staging", chain), v4],
      [providerOf(unused, "local", chain), { ...v3, level: "orb" as const }],
    ] as const) {
      expect(await provider.checkRoot(proof)).toMatchObject({ status: "not_checked" });
    }
  });
});

describe("the provider", () => {
  it("signs afresh each time, for five minutes, with a nonce in the field", () => {
    const provider = providerOf(() => Response.json({}));
    const [one, two] = [provider.signRequest("authz-x"), provider.signRequest("authz-x")];
    expect(one.nonce).not.toBe(two.nonce);
    expect(one.expires_at - one.created_at).toBe(300);
    expect(one.signature).toMatch(/^0x[0-9a-f]{130}$/);
    expect(BigInt(one.nonce) >> 248n).toBe(hashToField(new Uint8Array()) >> 248n);
    expect(one.rp_id).toBe("rp_00000000000000ff");
  });
});
