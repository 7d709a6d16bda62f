/** Dockerfile and compose.yaml against the repository that they build: no engine builds them in these tests. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { graceMs } from "#lib/api/http/listen";
import { finalStage, imageEnvironment, restsOf, stages } from "#support/dockerfile";
import { settingDefaults } from "./env";

const read = (file: string) => readFileSync(file, "utf8");
const manifest = JSON.parse(read("package.json"));

const [only] = restsOf(finalStage, "VOLUME");
const { PORT: port, DATA_DIR: folder, ...others } = imageEnvironment;

/** e2e/http/image.process.test.ts runs what it makes. */
describe("Dockerfile", () => {
  it("has a Node that this service runs on, of an exact line, the same in every stage", () => {
    const images = new Set(
      stages.flatMap((stage) => restsOf(stage, "FROM")).map((from) => from.split(" ")[0]),
    );
    expect(images.size).toBe(1);
    const major = Number.parseInt([...images][0]?.replace("node:", "") ?? "", 10);
    expect(major).toBeGreaterThanOrEqual(Number.parseInt(manifest.engines.node.replace(">=", ""), 10));
  });

  it("leaves secrets, data and what the build makes out of its context, and runs as a user without rights", () => {
    const ignored = read(".dockerignore").split("\n");
    for (const name of ["dist", ".next", "node_modules", ".git", "data", ".env*"])
      expect(ignored).toContain(name);
    const order = finalStage.map(([name]) => name).filter((name) => name === "USER" || name === "CMD");
    expect([order, restsOf(finalStage, "USER")]).toEqual([["USER", "CMD"], ["1000:1000"]]);
  });

  it("names settings that exist, one port and one folder", () => {
    const known = [...Object.keys(settingDefaults()), "NODE_ENV", "NEXT_TELEMETRY_DISABLED"];
    expect(Object.keys(others).filter((name) => !known.includes(name))).toEqual([]);
    expect([restsOf(finalStage, "EXPOSE"), only]).toEqual([[port], folder]);
  });
});

describe("compose.yaml", () => {
  const { services, volumes, networks } = parse(read("compose.yaml"));
  const { countersign, database } = services;

  it("publishes the image's port on loopback, keeps its volume, and gives it no rights", () => {
    expect(countersign.ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(countersign.volumes).toEqual([`data:${only}`]);
    expect(Object.keys(volumes).sort()).toEqual(["data", "database"]);
    expect(countersign).toMatchObject({ build: ".", read_only: true, cap_drop: ["ALL"] });
  });

  it("waits for a database that the service takes, with the same name and password", () => {
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = database.environment;
    const { DATABASE_URL, ...more } = countersign.environment;
    // Known to whoever reads the file, so nobody but the service may reach that database.
    expect([database.ports, database.networks, networks.database]).toEqual([
      undefined,
      ["database"],
      { internal: true },
    ]);
    expect(DATABASE_URL).toBe(
      `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@database:5432/${POSTGRES_DB}`,
    );
    expect(POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:-\w+\}$/);
    expect(Object.keys(more).filter((name) => !(name in settingDefaults()))).toEqual([]);
    expect(Number(/^postgres:(\d+)/.exec(database.image)?.[1])).toBeGreaterThanOrEqual(15);
    expect(countersign.depends_on.database.condition).toBe("service_healthy");
    expect(database.healthcheck.test).toContain("pg_isready");
  });

  it("starts without a .env, and with the one that init writes", () => {
    expect(countersign.env_file).toEqual([{ path: ".env", required: false }]);
    const all = [...read("compose.yaml").matchAll(/\$\{(\w+)([^}]*)\}/g)];
    expect(all.length).toBeGreaterThan(5);
    // A default for each: Compose stops, or warns and goes on with an empty one, without.
    expect(all.filter(([, , rest]) => !/^:-\S+$/.test(rest ?? ""))).toEqual([]);
    const init = read("lib/cli/init.ts");
    for (const [, name] of all) expect(init, name).toContain(`"${name}"`);
  });

  it("waits for a stop as long as the server may take for it", () => {
    expect(Number.parseInt(countersign.stop_grace_period, 10) * 1000).toBeGreaterThan(2 * graceMs);
  });
});

describe("alerts.yml", () => {
  const { groups } = parse(read("docs/operations/alerts.yml"));
  const rules: { alert: string; expr: string; annotations: object; labels: object }[] = groups[0].rules;

  it("has rules that each say what is wrong and what to do, once", () => {
    expect(rules.length).toBeGreaterThan(8);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { annotations, labels } of rules) {
      expect(Object.keys(annotations)).toEqual(["summary", "description"]);
      expect(["page", "ticket"]).toContain((labels as { severity: string }).severity);
    }
  });

  it("fires if no server is there to be asked", () => {
    const down = rules.find(({ alert }) => alert === "CountersignDown");
    expect(down?.expr).toContain("or absent(countersign_process_up)");
  });

  it("adds nothing up that every server reads of the one database", () => {
    for (const { expr } of rules)
      expect(expr).not.toMatch(
        /sum(?: by \(\w+\) )?\(countersign_(?:database|log|witness|unstamped|unpublished|outbox|unrecorded)_/,
      );
  });
});
