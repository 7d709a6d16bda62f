/** libpq's parameters in addresses of PostgreSQL: each is used, dropped or refused in words, and what is used works. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseParameters, findAddressProblem, readDatabaseAddress } from "#lib/database-address";
import { openDriver } from "#lib/db/postgres/first-connection";
import { parseEnv } from "#lib/env";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { startTlsDatabase, type TlsDatabase } from "#support/tls-database";
import { openDatabase } from "./embedded/embedded";

const withParameter = (name: string, value: string) =>
  `postgres://u:secret-word@h/db?${new URLSearchParams({ [name]: value })}`;
const folder = mkdtempSync(path.join(tmpdir(), "countersign-address-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** https://www.postgresql.org/docs/18/libpq-connect.html#LIBPQ-PARAMKEYWORDS, and what its addresses may say besides. */
const names = `host hostaddr port dbname user password passfile require_auth channel_binding connect_timeout
  client_encoding options application_name fallback_application_name keepalives keepalives_idle keepalives_interval
  keepalives_count tcp_user_timeout replication gssencmode sslmode requiressl sslnegotiation sslcompression sslcert sslkey
  sslkeylogfile sslpassword sslcertmode sslrootcert sslcrl sslcrldir sslsni requirepeer ssl_min_protocol_version
  ssl_max_protocol_version min_protocol_version max_protocol_version krbsrvname gsslib gssdelegation scram_client_key
  scram_server_key service servicefile target_session_attrs load_balance_hosts oauth_issuer oauth_client_id
  oauth_client_secret oauth_scope ssl`.split(/\s+/);

it("each of libpq's parameters has a rule", () => {
  expect(Object.keys(databaseParameters).sort()).toEqual(names.sort());
});

describe("a parameter that nothing depends on is dropped", () => {
  it.each([
    ["channel_binding", "prefer"],
    ["gssencmode", "prefer"],
    ["keepalives", "1"],
    ["keepalives_idle", "30"],
    ["tcp_user_timeout", "1000"],
    ["connect_timeout", "10"],
    ["target_session_attrs", "any"],
    ["client_encoding", "UTF8"],
    ["fallback_application_name", "x"],
    ["sslcompression", "0"],
    ["sslcertmode", "allow"],
    ["load_balance_hosts", "random"],
    ["replication", "false"],
    ["ssl", "false"],
  ])("%s=%s", (name, value) => {
    const read = readDatabaseAddress(withParameter(name, value));
    expect(read).toEqual({ url: "postgres://u:secret-word@h/db", options: {} });
  });
});

describe("a parameter that can't be kept is refused with its name and what to do", () => {
  it.each([
    ["channel_binding", "require", "sslmode=verify-full"],
    ["require_auth", "scram-sha-256", "pg_hba.conf"],
    ["gssencmode", "require", "GSSAPI isn't supported"],
    ["hostaddr", "10.0.0.1", "the place of the host"],
    ["passfile", "/x", "into the address"],
    ["service", "x", "into the address"],
    ["client_encoding", "LATIN1", "UTF8"],
    ["replication", "database", "Remove it"],
    ["requiressl", "1", "sslmode=require"],
    ["sslcertmode", "require", "sslcert"],
    ["sslcrldir", "/x", "sslcrl"],
    ["sslsni", "0", "Remove it"],
    ["sslkeylogfile", "/x", "Remove it"],
    ["requirepeer", "postgres", "folder"],
    ["min_protocol_version", "3.2", "3.0"],
    ["scram_client_key", "x", "password"],
    ["oauth_issuer", "x", "OAuth isn't supported"],
    ["sslmode", "verify", "must be disable, allow, prefer, require, verify-ca or verify-full"],
    ["sslnegotiation", "later", "must be postgres or direct"],
    ["target_session_attrs", "master", "must be any, read-write"],
    ["ssl_min_protocol_version", "TLSv1", "must be TLSv1.2 or TLSv1.3"],
    ["sslrootcert", "/x", "sslmode=verify-full"],
    ["sslcert", "/nowhere/x", "can't be read (ENOENT)"],
    ["port", "x", "must be a port"],
  ])("%s=%s", (name, value, mend) => {
    for (const setting of ["DATABASE_URL", "DATABASE_LISTEN_URL", "DATABASE_REPLICA_URL"]) {
      const variables = { DATABASE_URL: "postgres://h/db", [setting]: withParameter(name, value) };
      let said = "";
      try {
        parseEnv(variables);
      } catch (error) {
        said = (error as Error).message;
      }
      expect(said).toContain(`  ${setting}: `);
      expect(said).toContain(`its parameter ${name}`);
      expect(said).toContain(mend);
      expect(said).not.toContain("secret-word");
    }
  });

  it("also where two of them don't go together", () => {
    const problem = (query: string) => findAddressProblem(`postgres://h/db?${query}`);
    expect(problem("sslmode=require&sslrootcert=system")).toContain("needs sslmode=verify-full");
    expect(problem("sslmode=prefer&sslrootcert=/x")).toContain("checks nothing without sslmode=verify-full");
    expect(problem("sslmode=disable&ssl_min_protocol_version=TLSv1.3")).toContain("need sslmode=verify-full");
    expect(problem(`sslmode=require&sslcert=${process.execPath}`)).toContain("need each other");
  });
});

describe.skipIf(!databaseKinds.includes("postgres"))("a parameter that is used", () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let tls: TlsDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    tls = await startTlsDatabase(database.url);
  });
  afterAll(async () => {
    await tls.stop();
    await database.drop();
  });

  const ask = async (address: string) => {
    const client = openDriver(address, { max: 1, connect_timeout: 5 });
    const [row] = await client`SELECT current_setting('application_name') AS name,
      current_setting('search_path') AS path, current_database() AS database`.finally(() => client.end());
    return row;
  };
  const secure = async (query: string, host: "localhost" | "127.0.0.1" = "localhost") => {
    const url = tls.url(host);
    url.search = query;
    await ask(url.href);
    return tls.connections.at(-1);
  };

  it("says who connects, where, and with which settings", async () => {
    const { username, password, hostname, port, pathname } = new URL(database.url);
    const given = {
      ...{ host: hostname, port, user: username, password, dbname: pathname.slice(1) },
      application_name: "payments",
      options: "-c search_path=pg_catalog",
    };
    const filled = Object.entries(given).filter(([, value]) => value !== "");
    const query = new URLSearchParams(filled).toString();
    expect(await ask(`postgres:///?${query}`)).toEqual({
      name: "payments",
      path: "pg_catalog",
      database: pathname.slice(1),
    });
    expect(readDatabaseAddress("postgres:///db?host=/run/postgresql")).toEqual({
      url: "postgres://localhost/db",
      options: { host: "/run/postgresql" },
    });
    expect(readDatabaseAddress("postgres://%2Frun%2Fpostgresql/db").options).toEqual({
      host: "/run/postgresql",
    });
  });

  it("encrypts, and checks the server's certificate as its mode asks", async () => {
    const { root, otherRoot } = tls.files;
    for (const query of [
      "ssl=true",
      "sslmode=require",
      `sslmode=require&sslrootcert=${root}`,
      `sslmode=verify-ca&sslrootcert=${root}`,
      `sslmode=verify-full&sslrootcert=${root}`,
    ])
      expect(await secure(query), query).toEqual({ version: "TLSv1.3", hasCertificate: false });
    const untrusted = { code: expect.stringMatching(/UNABLE_TO|SELF_SIGNED|CERT_/) };
    for (const query of [
      "sslmode=verify-full",
      "sslmode=verify-ca",
      "sslrootcert=system",
      `sslmode=require&sslrootcert=${otherRoot}`,
      `sslmode=verify-full&sslrootcert=${otherRoot}`,
    ])
      await expect(secure(query), query).rejects.toMatchObject(untrusted);
  });

  it("compares the certificate with an address that is no name", async () => {
    const { root } = tls.files;
    expect(await secure(`sslmode=verify-ca&sslrootcert=${root}`, "127.0.0.1")).toBeDefined();
    await expect(secure(`sslmode=verify-full&sslrootcert=${root}`, "127.0.0.1")).rejects.toMatchObject({
      code: "ERR_TLS_CERT_ALTNAME_INVALID",
    });
  });

  it("shows the client's certificate, and keeps to the versions", async () => {
    const { root, client, clientKey } = tls.files;
    const full = `sslmode=verify-full&sslrootcert=${root}`;
    expect(await secure(`${full}&sslcert=${client}&sslkey=${clientKey}`)).toEqual({
      version: "TLSv1.3",
      hasCertificate: true,
    });
    expect(await secure(`${full}&ssl_max_protocol_version=TLSv1.2`)).toMatchObject({ version: "TLSv1.2" });
  });

  it("lets the whole database be used, and one of another client's is refused in words", async () => {
    const url = tls.url("localhost");
    url.search = `sslmode=verify-full&sslrootcert=${tls.files.root}&channel_binding=prefer&keepalives=1`;
    const opened = await openDatabase({ databaseUrl: url.href, dataDir: "" });
    expect((await opened.query("SELECT 1 AS one", [])).rows).toEqual([{ one: 1 }]);
    await opened.close();
    url.searchParams.set("pgbouncer", "true");
    await expect(openDatabase({ databaseUrl: url.href, dataDir: "" })).rejects.toThrow(
      /it knows no parameter pgbouncer \(42704\)\. Remove it from DATABASE_URL\./,
    );
  });
});
