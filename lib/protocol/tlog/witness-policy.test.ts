/** Policies of witnesses in groups (c2sp.org/tlog-policy), beside the short form. */
import { describe, expect, it } from "vitest";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { meetsQuorum } from "#support/quorum";
import { encodeVerifierKey, makeVerifierKey } from "./checkpoint";
import { encodeWitnessPolicy, parseWitnessPolicy } from "./witness-policy";

const publicKeyOf = (n: number) =>
  createLocalSigner(Buffer.alloc(32, n).toString("base64"), "test").publicKey;
const vkeyOf = (n: number, type: 1 | 4 = 4) =>
  encodeVerifierKey(makeVerifierKey(`w.test/${n}`, type, publicKeyOf(n)));
const witness = (name: string, n: number) => `witness ${name} ${vkeyOf(n)} https://w.test/${n}/`;

const nested = `# two organizations
log ${vkeyOf(9, 1)}
${witness("X1", 1)}
${witness("X2", 2)}
  ${witness("X3", 3).replaceAll(" ", "\t")}
group X 2 X1 X2 X3
${witness("Y1", 4)}
group Y any Y1

group both all X Y
quorum both
`;

describe("a policy", () => {
  it("is met by enough of each group, whoever they are, and by nothing else", () => {
    const { quorum, threshold, witnesses } = parseWitnessPolicy(nested);
    const isMet = (...numbers: number[]) => meetsQuorum(quorum, new Set(numbers.map((n) => `w.test/${n}`)));
    expect([isMet(1, 2, 4), isMet(2, 3, 4), isMet(1, 2, 3, 4)]).toEqual([true, true, true]);
    expect([isMet(1, 4), isMet(1, 2, 3), isMet(4), isMet()]).toEqual([false, false, false, false]);
    expect(threshold).toBe(3);
    expect(witnesses.map(({ url }) => url)[2]).toBe("https://w.test/3");
  });

  it("may be one witness, or nobody at all", () => {
    expect(parseWitnessPolicy(`${witness("A", 1)}\nquorum A`)).toMatchObject({
      quorum: "w.test/1",
      threshold: 1,
    });
    expect(parseWitnessPolicy(`${witness("A", 1)}\nquorum none`)).toMatchObject({ threshold: 0 });
  });

  it("is published in the same format, and the short form too", () => {
    const short = parseWitnessPolicy(`${vkeyOf(1)} https://a.test; ${vkeyOf(2)} https://b.test; policy 1`);
    for (const settings of [parseWitnessPolicy(nested), short]) {
      const published = encodeWitnessPolicy(settings, vkeyOf(9, 1));
      const withUrls = published.replaceAll(/^(witness .*)$/gm, "$1 https://w.test");
      expect(parseWitnessPolicy(withUrls)).toMatchObject({
        quorum: settings.quorum,
        threshold: settings.threshold,
      });
    }
  });

  const key = (name: string, n: number) => encodeVerifierKey(makeVerifierKey(name, 4, publicKeyOf(n)));
  const changing = [5, 6].map((n) => `${key("w.test/5", n)} https://w.test/5`);
  const asPolicy = changing.map((one, i) => `witness K${i} ${one}`).join("\n");

  it("counts a witness once that changes its key, and names its keys when it is published", () => {
    const short = parseWitnessPolicy(`${changing.join(";")}; ${vkeyOf(1)} https://w.test/1; policy 2`);
    const long = parseWitnessPolicy(
      `${asPolicy}\n${witness("A", 1)}\ngroup K any K0 K1\ngroup both all K A\nquorum both`,
    );
    const quorum = { k: 2, of: ["w.test/5", "w.test/1"] };
    for (const settings of [short, long]) {
      expect(settings).toMatchObject({ quorum, threshold: 2 });
      expect(settings.witnesses.map(({ name, keys }) => [name, keys.length])).toEqual([
        ["w.test/5", 2],
        ["w.test/1", 1],
      ]);
      const published = encodeWitnessPolicy(settings, vkeyOf(9, 1));
      expect(published).toContain("\ngroup w.test/5 any w.test/5+1 w.test/5+2\n");
      expect(parseWitnessPolicy(published.replaceAll(/^(witness .*)$/gm, "$1 https://w.test"))).toMatchObject(
        {
          quorum,
        },
      );
    }
    const alone = parseWitnessPolicy(`${asPolicy}\ngroup K any K0 K1\nquorum K`);
    expect(alone).toMatchObject({ quorum: "w.test/5", threshold: 1 });
  });

  it.each([
    [`${changing.join("\n")}\npolicy 2`, /policy 2 of 1 cannot be met/],
    [`${changing[0]}/\n${key("w.test/5", 6)} https://else.test\npolicy 1`, /w.test\/5: .* one address/],
    [`${asPolicy}\ngroup G 2 K0 K1\nquorum G`, /w.test\/5: its keys must be in a group of their own/],
    [`${asPolicy}\ngroup G all K0 K1\nquorum G`, /in a group of their own/],
    [`${asPolicy}\n${witness("A", 1)}\ngroup G any K0 K1 A\nquorum G`, /in a group of their own/],
    [`${asPolicy}\ngroup G any K0\ngroup H any K1\ngroup I 2 G H\nquorum I`, /in a group of their own/],
    [`${asPolicy}\nquorum K0`, /in a group of their own/],
    ["quorum X", /X is not defined/],
    [`${witness("A", 1)}\nquorum A\nquorum A`, /quorum is given twice/],
    [`${witness("A", 1)}\n${witness("A", 2)}\nquorum A`, /A is named twice/],
    [`${witness("A", 1)}\n${witness("B", 1)}\nquorum A`, /named twice/],
    [`${witness("none", 1)}\nquorum none`, /none is named twice/],
    [`${witness("A", 1)}\ngroup G 2 A\nquorum G`, /2 of 1 cannot be met/],
    [`${witness("A", 1)}\ngroup G 0 A\nquorum G`, /0 of 1 cannot be met/],
    [`${witness("A", 1)}\ngroup G any A A\nquorum G`, /A is in a group twice/],
    [`${witness("A", 1)}\ngroup G any A\ngroup H any A G\nquorum H`, /A is in a group twice/],
    [`group G any A\n${witness("A", 1)}\nquorum G`, /A is not defined/],
    [`${witness("A", 1)}\ngroup G any none\nquorum G`, /none is not defined/],
    [`witness A ${vkeyOf(1)}\nquorum A`, /not an http address/],
    [`witness A ${vkeyOf(1, 1)} https://a.test\nquorum A`, /key of type 4/],
    [`${witness("A", 1)}\nquorum A\nwitnes B`, /no line of a policy/],
    ["quorum none", /there is no witness/],
  ])("is refused at start: %#", (text, message) => {
    expect(() => parseWitnessPolicy(text)).toThrow(message);
  });
});
