/**
 * A push service of the tests: it accepts what RFC 8030, 8291 and 8292 ask for, refuses everything else, and decrypts with
 * another library than the service encrypts with.
 */
import { createECDH, createPublicKey, randomBytes, verify } from "node:crypto";
// @ts-expect-error It has no types.
import ece from "http_ece";
import type { GuardedAnswer, GuardedRequest } from "#lib/jobs/guarded-request";

const origin = "https://push.example";

interface Received {
  message: Record<string, unknown>;
  topic: string | undefined;
  ttl: number;
}

/** A browser's subscription, bound to the key of the service that it subscribed to. */
export function createPushService(applicationServerKey: string) {
  const devices = new Map<
    string,
    { pair: ReturnType<typeof createECDH>; auth: string; received: Received[] }
  >();
  const state = { status: null as number | null };

  function isVouchedFor(header: string): boolean {
    const [, token = "", key] = /^vapid t=([^,]+), ?k=(\S+)$/.exec(header) ?? [];
    const [head = "", claims = "", signature = ""] = token.split(".");
    if (key !== applicationServerKey || JSON.parse(Buffer.from(head, "base64url").toString()).alg !== "ES256")
      return false;
    const point = Buffer.from(key, "base64url");
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString("base64url"));
    const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" } as never);
    const signed = Buffer.from(`${head}.${claims}`);
    const isSigned = verify(
      "sha256",
      signed,
      { key: publicKey, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
    const { aud, exp, sub } = JSON.parse(Buffer.from(claims, "base64url").toString());
    const seconds = exp - Date.now() / 1000;
    return isSigned && aud === origin && seconds > 0 && seconds <= 86_400 && /^(https:|mailto:)/.test(sub);
  }

  function judge({ method, url, headers, body }: GuardedRequest): number {
    const device = devices.get(url);
    if (state.status !== null) return state.status;
    if (device === undefined) return url.startsWith(`${origin}/send/`) ? 410 : 404;
    const given = new Headers(headers);
    if (method !== "POST" || !/^\d+$/.test(given.get("ttl") ?? "")) return 400;
    if (given.get("content-encoding") !== "aes128gcm" || typeof body !== "object") return 415;
    if (body.length > 4096) return 413;
    if (!isVouchedFor(given.get("authorization") ?? "")) return 403;
    if (!/^[\w-]{1,32}$/.test(given.get("topic") ?? "x")) return 400;
    const options = { version: "aes128gcm", privateKey: device.pair, authSecret: device.auth };
    const text = ece.decrypt(Buffer.from(body), options).toString("utf8");
    device.received.push({
      message: JSON.parse(text),
      topic: given.get("topic") ?? undefined,
      ttl: Number(given.get("ttl")),
    });
    return 201;
  }

  return {
    state,
    subscribe() {
      const pair = createECDH("prime256v1");
      pair.generateKeys();
      const auth = randomBytes(16).toString("base64url");
      const endpoint = `${origin}/send/${randomBytes(16).toString("base64url")}`;
      const received: Received[] = [];
      devices.set(endpoint, { pair, auth, received });
      const subscription = { endpoint, keys: { p256dh: pair.getPublicKey("base64url"), auth } };
      return { subscription, received, end: () => devices.delete(endpoint) };
    },
    post: async (request: GuardedRequest): Promise<GuardedAnswer> => ({
      status: judge(request),
      headers: {},
      text: "",
    }),
  };
}
