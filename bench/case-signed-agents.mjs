/** Cost of an agent's own signature, in attesting and in verifying: against an agent without. */
import { generateKeyPairSync, sign } from "node:crypto";
import { plainBody } from "./case-attest.mjs";
import { attestMany, getSide, pickFrom, postJson, postSide } from "./fill.mjs";
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { withCpu } from "./usage.mjs";

export const name = "signed-agents";
export const isOptional = true;

const connections = 32;
const verified = 2_000;
const slug = "bench-signer";

async function registerAgent({ baseUrl, key }) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const body = { slug, public_key: raw.toString("base64") };
  await postJson(`${baseUrl}/v1/identity/register`, body, { authorization: `Bearer ${key}` });
  let signed = 0;
  /** Makes a new body each time, because a signature counts once. Names are in the order of RFC 8785. */
  return () => {
    signed += 1;
    const { action, inputs_hash } = plainBody;
    const request = { action, agent_slug: slug, inputs_hash, metadata: { nonce: String(signed) } };
    const signature = sign(null, Buffer.from(JSON.stringify(request)), privateKey);
    return { ...request, agent_signature: signature.toString("base64") };
  };
}

/** The service judges the signature when it attests and says so; a wrong one is no error, and costs less. */
async function requireVerified({ baseUrl }, id) {
  const { checks } = await (await fetch(`${baseUrl}/v1/verify/${id}`)).json();
  const { status } = checks.find((check) => check.name === "agent_signature");
  if (status !== "pass") throw new Error(`the agent's signature of ${id}: ${status}`);
}

export async function run(servers, { seconds }) {
  const service = await servers.service();
  const { port, key } = service;
  const signBody = await registerAgent(service);
  const load = { connections, seconds };
  const next = () => httpRequest(port, "POST", "/v1/attest", { key, body: signBody() });
  const attest = await takeTurns({
    "POST /v1/attest, signed": withCpu(() => runLoad({ port, ...load, next, status: 201 }), service.meter),
    "POST /v1/attest": withCpu(postSide(service, "/v1/attest", plainBody, load), service.meter),
  });
  printSides(`Agents that sign, ${connections} clients`, attest);
  printRatio("attest, agents that sign, against those that don't", ratioOf(attest));

  const signed = await attestMany(service, verified, signBody);
  await requireVerified(service, signed[0]);
  const plain = await attestMany(service, verified);
  const verify = (ids) =>
    withCpu(
      getSide(service, () => `/v1/verify/${pickFrom(ids)}`, load),
      service.meter,
    );
  const reads = await takeTurns({ "verify, signed": verify(signed), verify: verify(plain) });
  printSides(`Verification of ${verified} ids at random`, reads);
  printRatio("verify, agents that sign, against those that don't", ratioOf(reads));
}

function ratioOf(sides) {
  const [signed, plain] = Object.values(sides);
  return signed.perSecond / plain.perSecond;
}
