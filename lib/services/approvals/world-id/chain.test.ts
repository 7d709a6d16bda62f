/** Against a stub that answers as World's contracts do: selectors and addresses as published, one word after another. */
import { describe, expect, it } from "vitest";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import { contracts, manager, registry, stubNode, v3, v4, v4Contracts, words } from "#support/world-chain";
import { createWorldChain } from "./chain";

function chainOf(answers: Record<string, string>, overrides: Record<string, unknown> = {}) {
  const { send, asked } = stubNode(answers, overrides);
  return { chain: createWorldChain({ rpcUrl: "http://rpc.test", fetch: send }), asked };
}

describe("a node", () => {
  it("is read no further than a node has to say", async () => {
    let sent = 0;
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull: (controller) => {
          sent += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(0x20));
          if (sent > 16_000_000) controller.close();
        },
      });
    const send = (async () => new Response(endless())) as unknown as typeof fetch;
    const chain = createWorldChain({ rpcUrl: "http://rpc.test", fetch: send });
    await expect(chain.anchorOrbV3(v3)).rejects.toMatchObject({ errorName: "service_unavailable" });
    expect(sent).toBeLessThan(8_000_000);
  });
});

describe("anchorOrbV3", () => {
  it("anchors a fresh root at the block it was read from", async () => {
    const { chain } = chainOf(contracts);
    expect(await chain.anchorOrbV3(v3)).toEqual({
      status: "anchored",
      anchor: {
        chain_id: 480,
        block_number: 16,
        block_hash: wordHex(77n),
        registry: manager,
        root: wordHex(1000n),
      },
    });
  });

  it("takes the latest root at any age, refuses an expired or unknown one", async () => {
    const { chain } = chainOf(contracts);
    expect(await chain.anchorOrbV3({ ...v3, merkle_root: wordHex(1001n) })).toMatchObject({
      status: "anchored",
    });
    expect(await chain.anchorOrbV3({ ...v3, merkle_root: wordHex(999n) })).toMatchObject({
      status: "not_on_chain",
    });
    expect(await chain.anchorOrbV3({ ...v3, merkle_root: wordHex(5n) })).toMatchObject({
      status: "not_on_chain",
    });
  });

  it("says service_unavailable for another chain, an outage and nonsense", async () => {
    const broken = [
      { eth_chainId: { result: "0x1" } },
      { eth_getBlockByNumber: { result: null } },
      { eth_call: { error: { code: -32_005, message: "limit exceeded" } } },
      { eth_call: { result: "0x12" } },
      { eth_call: { result: words(0n) } },
    ];
    for (const overrides of broken) {
      await expect(chainOf(contracts, overrides).chain.anchorOrbV3(v3)).rejects.toMatchObject({
        errorName: "service_unavailable",
      });
    }
    const down = createWorldChain({
      rpcUrl: "http://rpc.test",
      fetch: () => Promise.reject(new TypeError("down")),
    });
    await expect(down.anchorOrbV3(v3)).rejects.toMatchObject({ errorName: "service_unavailable" });
  });
});

describe("anchorV4", () => {
  it("anchors the root with the issuer's and the RP's keys", async () => {
    const { chain, asked } = chainOf(v4Contracts);
    expect(await chain.anchorV4(v4)).toEqual({
      status: "anchored",
      anchor: {
        chain_id: 480,
        block_number: 16,
        block_hash: wordHex(77n),
        registry,
        root: wordHex(1000n),
        issuer_public_key: [wordHex(3n), wordHex(4n)],
        oprf_public_key: [wordHex(5n), wordHex(6n)],
      },
    });
    expect(asked).toHaveLength(6);
  });

  it("refuses an unknown root, an issuer without a key and an RP that the registry reverts for", async () => {
    const { chain } = chainOf(v4Contracts);
    for (const change of [
      { merkle_root: wordHex(5n) },
      { issuer_schema_id: 2 },
      { rp_id: "rp_00000000000000fe" },
      { rp_id: "nonsense" },
    ]) {
      expect(await chain.anchorV4({ ...v4, ...change })).toMatchObject({ status: "not_on_chain" });
    }
  });
});
