/** The approval page and the stand-in's World App, as a person would use them, over HTTP. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { postJson } from "./fill.mjs";

function seal(key, value) {
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  const bytes = [cipher.update(JSON.stringify(value)), cipher.final(), cipher.getAuthTag()];
  return { iv: iv.toString("base64"), payload: Buffer.concat(bytes).toString("base64") };
}

function open(key, { iv, payload }) {
  const bytes = Buffer.from(payload, "base64");
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(iv, "base64"));
  decipher.setAuthTag(bytes.subarray(-16));
  return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString());
}

/** keccak-256 without its last byte, as a word in hex. */
function hashSignal(signal) {
  const hash = Buffer.from(keccak_256(Buffer.from(signal.slice(2), "hex"))).toString("hex");
  return `0x00${hash.slice(0, 62)}`;
}

const fromPage = (address) => ({
  "content-type": "application/json",
  "sec-fetch-site": "same-origin",
  "x-forwarded-for": address,
});

export const openWorldId = (link, address) => postJson(`${link}/world-id`, {}, fromPage(address));

export const deny = (link, address) => postJson(`${link}/deny`, {}, fromPage(address));

/** Resolves with the answer, whatever its status; its body is read away. */
export async function submitProof(link, address, start, response) {
  const { action, environment, rp_context } = start;
  const body = {
    protocol_version: "3.0",
    nonce: rp_context.nonce,
    action,
    environment,
    responses: [response],
  };
  const answer = await fetch(`${link}/proof`, {
    method: "POST",
    headers: fromPage(address),
    body: JSON.stringify(body),
  });
  await answer.arrayBuffer();
  return answer;
}

/** Generators of the two groups: well-formed points, so that only the pairing shows that they prove nothing. */
const generators = [
  1n,
  2n,
  11559732032986387107991004021392285783925812861821192530917403151452391805634n,
  10857046999023057135944570762232829481370756359578518086990519993285655852781n,
  4082367875863433681332203403145435568316851327593401208105741076214120093531n,
  8495653923123431417604973247489272438418190587263600148770280649306958101930n,
  1n,
  2n,
];
const toWord = (value) => value.toString(16).padStart(64, "0");
const junkProof = `0x${generators.map(toWord).join("")}`;

/** The i-th proof of nothing: it costs the service a pairing. Resolves to the answer's status. */
export async function submitJunk(link, address, i) {
  const start = await openWorldId(link, address);
  const nullifier = `0x${toWord(BigInt(1_000_000 + i))}`;
  const response = { identifier: "orb", proof: junkProof, merkle_root: `0x${toWord(9n)}`, nullifier };
  return (await submitProof(link, address, start, response)).status;
}

/** A real proof of a test human, made by the stand-in's prover. */
export async function makeProof(baseUrl, { app_id, action, signal, environment }) {
  const key = randomBytes(32);
  const asked = {
    app_id,
    action,
    signal: hashSignal(signal),
    verification_level: "orb",
    allow_legacy_proofs: true,
    environment,
  };
  const { request_id: i } = await postJson(`${baseUrl}/request`, seal(key, asked));
  const answer = { i, k: key.toString("base64"), decision: "approve", human: "ada" };
  const { sent } = await postJson(`${baseUrl}/dev/world-app/api/response`, answer);
  if (sent !== "proof") throw new Error(`the stand-in sent ${sent}`);
  const { response } = await (await fetch(`${baseUrl}/response/${i}`)).json();
  const { proof, merkle_root, nullifier_hash } = open(key, response);
  return { identifier: "orb", proof, merkle_root, nullifier: nullifier_hash };
}
