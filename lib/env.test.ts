import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { afterEach, describe, expect, it, vi } from "vitest";
import { encodeSettings, readExample, settingsFile } from "#ci/settings";
import { publicBaseUrl } from "#lib/api/http/host-check";
import { encodeVerifierKey, makeVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { loadProvider, logLevel, parseEnv, settingDefaults } from "./env";

const production = {
  PUBLIC_BASE_URL: "https://countersign.example",
  WORLD_APP_ID: "app_x",
  WORLD_RP_ID: "rp_x",
  WORLD_RP_SIGNING_KEY: `0x${"11".repeat(32)}`,
  RESEND_API_KEY: "re_x",
  MAIL_FROM: "Countersign <no-reply@countersign.example>",
};

const witnessKey = makeVerifierKey("w.example", 4, new Uint8Array(32).fill(7));

const wrong: [string, string][] = [
  ["PORT", "abc"],
  ["PORT", "70000"],
  ["PUBLIC_BASE_URL", "localhost:3000"],
  ["PUBLIC_BASE_URL", "sign.example.com"],
  ["PUBLIC_BASE_URL", "ftp://example.com"],
  ["PUBLIC_BASE_URL", "http://localhost:3000/?a=1"],
  ["PUBLIC_BASE_URL", "http://user:secret@localhost:3000"],
  ["LOG_TILES_URL", "tiles.example.com"],
  ["LOG_STORE", "file:/%zz"],
  ["DATABASE_URL", "mysql://x/y"],
  ["DATABASE_URL", "postgres://user:100%secret@x/y"],
  ["DATABASE_URL", "postgres:elsewhere"],
  ["REDIS_URL", "http://x"],
  ["REDIS_URL", "redis:elsewhere"],
  ["REDIS_URL", "redis://:100%secret@x"],
  ["AUTH_SECRET", "short"],
  ["LOG_ORIGIN", "two words"],
  ["SMTP_URL", "http://x"],
  ["RESEND_BASE_URL", "ftp://x"],
  ["WORLD_CHAIN_RPC_URL", "wss://x"],
  ["WORLD_APP_ID", "x"],
  ["WORLD_RP_ID", "x"],
  ["WORLD_RP_SIGNING_KEY", "x"],
  ["WORLD_RP_SIGNING_KEY", "00".repeat(32)],
  ["WORLD_RP_SIGNING_KEY", "ff".repeat(32)],
  ["WORLD_ENVIRONMENT", "test"],
  ["APPROVALS", "none"],
  ["DEFAULT_VISIBILITY", "open"],
  ["SIGN_UP", "closed"],
  ["WORLD_PORTAL_URL", "x"],
  ["WORLD_CHAIN_RPC_URL", "x"],
  ...[
    "WORLD_PORTAL_URL",
    "WORLD_CHAIN_RPC_URL",
    "DRAND_URL",
    "RESEND_BASE_URL",
    "GOOGLE_KMS_URL",
    "LOG_STORE_ENDPOINT",
    "TSA_URLS",
  ].map((name): [string, string] => [name, "https://user:secret@elsewhere.example/"]),
  ["WITNESSES", `${encodeVerifierKey(witnessKey)} https://user:secret@w.example; policy 1`],
  ["WITNESSES", `${encodeVerifierKey(witnessKey)} htps://user:secret@w.example; policy 1`],
  ["TSA_URLS", "htps://user:secret@elsewhere.example/"],
  ["METRICS_PORT", "0"],
  ["METRICS_HOST", "metrics.internal"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://collector:4317"],
  ["OTEL_TRACES_SAMPLER_ARG", "2"],
  ["TRUSTED_PROXY_HOPS", "-1"],
  ["TRUSTED_PROXIES", "proxy.internal"],
  ["TRUSTED_PROXIES", "10.0.0.5, 10/8"],
  ["TRUSTED_PROXIES", "10.0.0.0/33"],
  ["HOST", "countersign.example"],
  ["HOST", "10"],
  ["HOST", "0.0.0.0"],
  ["HOST", "192.168.1.5"],
  ["HOST", "::"],
  ["LOG_LEVEL", "loud"],
  ["PROCESSES", "0"],
  ["PROCESSES", "all"],
  ["PROCESSES", "2"],
  ...Object.keys(settingDefaults())
    .filter((name) => name.startsWith("LIMIT_"))
    .map((name): [string, string] => [name, "0"]),
];

afterEach(() => void vi.unstubAllEnvs());

const messageOf = (variables: Record<string, string>): string => {
  try {
    parseEnv(variables);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};

describe("settings", () => {
  it("name how many processes there are: one with the embedded database, else up to four by themselves", () => {
    const url = { DATABASE_URL: "postgres://x/y" };
    expect(parseEnv({ PROCESSES: "1" }).processCount).toBe(1);
    expect(parseEnv({}).processCount).toBe(1);
    expect(parseEnv({ ...url, PROCESSES: "9" }).processCount).toBe(9);
    expect(parseEnv(url).processCount).toBe(Math.min(4, availableParallelism()));
    expect(messageOf({ PROCESSES: "2" })).toContain("set DATABASE_URL");
  });

  it("take a replica, or an address for listening, only beside DATABASE_URL", () => {
    const listening = { DATABASE_LISTEN_URL: "postgres://y/y" };
    expect(messageOf(listening)).toContain("DATABASE_URL: must be set with DATABASE_LISTEN_URL");
    expect(messageOf({ ...listening, DATABASE_URL: "postgres://x/y" })).toBe("");
    const replica = { DATABASE_REPLICA_URL: "postgres://y/y" };
    expect(messageOf(replica)).toContain("DATABASE_URL: must be set with DATABASE_REPLICA_URL");
    expect(messageOf({ ...replica, DATABASE_URL: "postgres://x/y" })).toBe("");
  });

  it("need nothing on a loopback address", () => {
    expect(parseEnv({})).toMatchObject({
      PORT: 3000,
      baseUrl: "http://localhost:3000",
      DATA_DIR: "./data",
      worldId: "local",
      mail: "mailbox",
      TRUSTED_PROXY_HOPS: 0,
      LIMIT_ATTEST_PER_MINUTE: 100,
      DEFAULT_VISIBILITY: "public",
    });
    expect(parseEnv({})).not.toHaveProperty("LIMIT_ATTEST_PER_DAY");
    expect(parseEnv({ PORT: "4000", REDIS_URL: "" }).baseUrl).toBe("http://localhost:4000");
    for (const url of ["http://127.0.0.1:8080/", "http://[::1]:1", "http://a.localhost"])
      expect(parseEnv({ PUBLIC_BASE_URL: url })).toMatchObject({ isLoopback: true, worldId: "local" });
  });

  it("of a public address name all that is missing for it", () => {
    for (const url of [
      "https://countersign.example",
      "http://192.168.1.5:3000",
      "http://0.0.0.0:3000",
      "http://localhost.example",
    ]) {
      const message = messageOf({ PUBLIC_BASE_URL: url });
      for (const name of [
        "WORLD_APP_ID",
        "WORLD_RP_ID",
        "WORLD_RP_SIGNING_KEY",
        "RESEND_API_KEY",
        "SMTP_URL",
        "PUBLIC_BASE_URL",
      ])
        expect([url, name, message.includes(name)]).toEqual([url, name, true]);
    }
    expect(parseEnv(production)).toMatchObject({ worldId: "portal", mail: "resend", isLoopback: false });
    for (const name of ["WORLD_APP_ID", "WORLD_RP_ID", "WORLD_RP_SIGNING_KEY", "MAIL_FROM"] as const) {
      const { [name]: _, ...rest } = production;
      expect([name, messageOf(rest).includes(name)]).toEqual([name, true]);
    }
    expect(messageOf({ WORLD_APP_ID: "app_x" })).toContain("WORLD_RP_ID, WORLD_RP_SIGNING_KEY");
  });

  it("need no World ID where passkeys approve, and World ID wins once it is set up", () => {
    const { WORLD_APP_ID, WORLD_RP_ID, WORLD_RP_SIGNING_KEY, ...rest } = production;
    expect(messageOf(rest)).toContain("set APPROVALS=passkeys");
    const passkeys = { ...rest, APPROVALS: "passkeys" };
    expect(parseEnv(passkeys)).toMatchObject({ worldId: "none", bindAddresses: null, isDemoOn: false });
    expect(parseEnv({ APPROVALS: "passkeys" })).toMatchObject({ worldId: "none", isDemoOn: false });
    expect(messageOf({ ...passkeys, WORLD_APP_ID })).toContain(
      "WORLD_RP_ID, WORLD_RP_SIGNING_KEY: must be set",
    );
    expect(messageOf({ ...passkeys, WORLD_APP_ID })).not.toContain("APPROVALS");
    expect(messageOf({ ...passkeys, DEMO: "on" })).toContain("must be set with DEMO=on");
    expect(parseEnv({ ...production, APPROVALS: "passkeys", DEMO: "on" })).toEqual({
      ...parseEnv({ ...production, DEMO: "on" }),
      APPROVALS: "passkeys",
    });
    expect(parseEnv({ ...passkeys, WORLD_ENVIRONMENT: "staging" }).isDemoOn).toBe(false);
  });

  it("close sign-up only with all that it needs, and never look away from half of it", () => {
    expect(parseEnv({})).toMatchObject({ SIGN_UP: "open", SIGN_UP_DOMAINS: [] });
    expect(parseEnv({ SIGN_UP: "invited" }).SIGN_UP).toBe("invited");
    const domains = { SIGN_UP: "domains", SIGN_UP_DOMAINS: "Corp.example, müller.example" };
    expect(parseEnv(domains).SIGN_UP_DOMAINS).toEqual(["corp.example", "xn--mller-kva.example"]);
    expect(messageOf({ SIGN_UP: "domains" })).toContain("SIGN_UP_DOMAINS: must be set with SIGN_UP=domains");
    for (const SIGN_UP of ["", "open", "invited"])
      expect(messageOf({ ...domains, SIGN_UP })).toContain("SIGN_UP: must be domains with SIGN_UP_DOMAINS");
    for (const SIGN_UP_DOMAINS of [
      "@corp.example",
      "a@corp.example",
      "corp",
      "10.0.0.1",
      "https://corp.example",
      "*.corp.example",
    ])
      expect(messageOf({ ...domains, SIGN_UP_DOMAINS })).toContain(`${SIGN_UP_DOMAINS} is not a domain`);
  });

  it("name a provider of sign-in whole, by TLS, and before it is enforced", () => {
    const oidc = {
      OIDC_ISSUER: "https://id.corp.example/realms/corp",
      OIDC_CLIENT_ID: "c",
      OIDC_CLIENT_SECRET: "s",
    };
    expect(parseEnv({ ...oidc, OIDC_ENFORCED: "on" })).toMatchObject({ ...oidc, OIDC_ENFORCED: "on" });
    expect(messageOf({ OIDC_ISSUER: oidc.OIDC_ISSUER })).toContain(
      "OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: must be set",
    );
    expect(messageOf({ OIDC_ENFORCED: "on" })).toContain("OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET");
    for (const OIDC_ISSUER of [
      "http://id.corp.example",
      "https://id.corp.example/?a=b",
      "https://user:secret@id.corp.example",
      "id.corp.example",
      "https://id.corp.example/.well-known/openid-configuration",
    ])
      expect(messageOf({ ...oidc, OIDC_ISSUER })).toContain("OIDC_ISSUER: must");
    expect(parseEnv({ ...oidc, OIDC_ISSUER: "http://127.0.0.1:8080" }).OIDC_ISSUER).toBe(
      "http://127.0.0.1:8080",
    );
  });

  it("bind loopback while a stand-in runs, and every address or the one of HOST where none does", () => {
    const both = ["127.0.0.1", "::1"];
    expect(parseEnv({}).bindAddresses).toEqual(both);
    expect(parseEnv({ HOST: "localhost" }).bindAddresses).toEqual(both);
    expect(parseEnv({ HOST: "::1" }).bindAddresses).toEqual(["::1"]);
    expect(parseEnv({ HOST: "127.0.0.9" }).bindAddresses).toEqual(["127.0.0.9"]);
    expect(parseEnv({ PUBLIC_BASE_URL: "http://127.0.0.9:3000" }).bindAddresses).toEqual([
      ...both,
      "127.0.0.9",
    ]);
    expect(parseEnv({ PUBLIC_BASE_URL: "http://[::1]:3000" }).bindAddresses).toEqual(both);
    expect(parseEnv(production).bindAddresses).toBeNull();
    expect(parseEnv({ ...production, HOST: "0.0.0.0" }).bindAddresses).toEqual(["0.0.0.0"]);
    const { RESEND_API_KEY: _, ...withMailbox } = { ...production, PUBLIC_BASE_URL: "http://localhost:3000" };
    expect(parseEnv(withMailbox).bindAddresses).toEqual(both);
    for (const half of [withMailbox, { RESEND_API_KEY: "re_x", MAIL_FROM: "a@b.example" }])
      expect(messageOf({ ...half, HOST: "0.0.0.0" })).toContain("HOST: is 0.0.0.0");
  });

  it("spell the public address as browsers do: its scheme decides about secure cookies", () => {
    for (const url of [
      "HTTPS://Sign.Example.com",
      "https://sign.example.com:443/?",
      "https://sign.example.com/#",
    ])
      expect(parseEnv({ ...production, PUBLIC_BASE_URL: url }).baseUrl).toBe("https://sign.example.com");
    vi.stubEnv("PUBLIC_BASE_URL", " HTTPS://Sign.Example.com/a/?");
    expect(publicBaseUrl()).toBe("https://sign.example.com/a");
    vi.stubEnv("PUBLIC_BASE_URL", " ");
    vi.stubEnv("PORT", "4000");
    expect(publicBaseUrl()).toBe("http://localhost:4000");
    const tiles = parseEnv({ LOG_TILES_URL: "HTTPS://tiles.example/log/?" });
    expect(tiles.LOG_TILES_URL).toBe("https://tiles.example/log");
  });

  it("count as absent if they are white space, so that none is a 0", () => {
    const blank = Object.fromEntries(Object.keys(settingDefaults()).map((name) => [name, " \t"]));
    expect(parseEnv(blank)).toEqual(parseEnv({}));
  });

  it("take a level of the log that is wrong for the default until it is reported", () => {
    for (const level of ["", " ", "loud"]) {
      vi.stubEnv("LOG_LEVEL", level);
      expect(logLevel()).toBe("silent");
    }
    vi.stubEnv("VITEST", undefined);
    expect(logLevel()).toBe("info");
    vi.stubEnv("LOG_LEVEL", "warn");
    expect(logLevel()).toBe("warn");
  });

  it("name proxies only together with how many there are", () => {
    const TRUSTED_PROXIES = "10.0.0.5, fd00::/8 ::ffff:10.0.0.6";
    expect(messageOf({ TRUSTED_PROXIES })).toContain("TRUSTED_PROXY_HOPS:");
    const networks = parseEnv({ TRUSTED_PROXIES, TRUSTED_PROXY_HOPS: "1" }).TRUSTED_PROXIES;
    expect(networks?.map(([network, bits]) => `${network.toString()}/${bits}`)).toEqual([
      "10.0.0.5/32",
      "fd00::/8",
      "10.0.0.6/32",
    ]);
  });

  it("are refused in a sentence, one for each, and not in those of a library", () => {
    for (const name of Object.keys(settingDefaults()))
      for (const value of ["x!?", "-1", "99999999999999999999", "1.5"]) {
        const [, ...lines] = messageOf({ [name]: value }).split("\n");
        const isOwn = lines.every((line) => !/invalid|too (?:big|small)|expected|received/i.test(line));
        expect([name, value, lines, isOwn]).toEqual([name, value, lines.slice(0, 1), true]);
      }
  });

  it("take a sender that mail can be sent from", () => {
    const from = (MAIL_FROM: string) => messageOf({ ...production, MAIL_FROM });
    for (const right of ["a@b.example", "Countersign <a@b.example>", '"Countersign, Inc." <a@b.example>'])
      expect(from(right)).toBe("");
    for (const none of ["Countersign", "a@", "Countersign <>", "a@b.example Countersign"])
      expect(from(none)).toContain("MAIL_FROM: must be an email address");
  });

  it.each(wrong)("name the variable %s when it is %s, and never print its value", (name, value) => {
    const message = messageOf({ [name]: value });
    expect(message.startsWith("Countersign cannot start")).toBe(true);
    expect(message).toContain(`${name}:`);
    expect(message).not.toContain("secret@");
  });
});

it("docs/settings.md has each setting as .env.example describes it (else run node .ci/settings.mjs)", () => {
  const text = readFileSync(settingsFile, "utf8");
  expect(text).toBe(encodeSettings(readExample()));
  const rows = [...text.matchAll(/^\| `([A-Z0-9_]+)` \| (?:`(.*?)`)? ?\| \S/gm)];
  expect(Object.fromEntries(rows.map(([, name, initial = ""]) => [name, initial]))).toEqual(
    settingDefaults(),
  );
});

describe(".env.example", () => {
  const text = readFileSync(".env.example", "utf8");
  const listed = new Map(
    [...text.matchAll(/^#([A-Z][A-Z0-9_]+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );

  it("lists every setting that lib/env.ts reads, and no other, with its default", () => {
    const defaults = settingDefaults();
    expect([...listed.keys()].sort()).toEqual(Object.keys(defaults).sort());
    for (const [name, value] of Object.entries(defaults))
      expect([name, listed.get(name)]).toEqual([name, value]);
  });

  it("has each of them in the guide, and no other; limits have a page of their own", () => {
    const guide = readFileSync("components/guides/content/run-your-own.md", "utf8");
    const table = guide.split("\n").filter((line) => line.startsWith("| `"));
    const named = table.flatMap((line) => [...line.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name));
    const wanted = Object.keys(settingDefaults()).filter((name) => !name.startsWith("LIMIT_"));
    expect(named.sort()).toEqual(wanted.sort());
  });

  it("sets nothing by itself, and explains each", () => {
    expect(text).not.toMatch(/^[A-Z]/m);
    for (const name of listed.keys())
      expect([name, new RegExp(`^# .+\\n(#[A-Z].*\\n)*#${name}=`, "m").test(text)]).toEqual([name, true]);
  });
});

describe("a provider's SDK", () => {
  it("that is missing is named by its setting, with the command that installs it", async () => {
    const missing = "@aws-sdk/client-that-is-not-there";
    await expect(loadProvider("LOG_STORE=s3://…", () => import(missing))).rejects.toThrow(
      "LOG_STORE=s3://… needs a package that is not installed: run npm run providers",
    );
  });

  it("that is there is given as it is, and another failure is left as it is", async () => {
    expect((await loadProvider("X", () => import("node:path"))).sep).toBe("/");
    const broken = () => Promise.reject(new TypeError("broken"));
    await expect(loadProvider("X", broken)).rejects.toThrow(TypeError);
  });
});
