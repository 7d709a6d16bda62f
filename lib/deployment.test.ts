/** Dockerfile and compose.yaml against the repository that they build: no engine builds them in these tests. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { settingDefaults } from "./env";

const read = (file: string) => readFileSync(file, "utf8");
const manifest = JSON.parse(read("package.json"));

type Line = [instruction: string, rest: string];
const stages = read("Dockerfile")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter(Boolean)
  .map((line) => /^\s*(\S+) (.*)$/.exec(line)?.slice(1) as Line)
  .reduce<Line[][]>((all, line) => {
    if (line[0] === "FROM") all.push([]);
    all.at(-1)?.push(line);
    return all;
  }, []);
const last = stages.at(-1) ?? [];
const of = (stage: Line[], instruction: string) =>
  stage.filter(([name]) => name === instruction).map(([, rest]) => rest);
const [variables = ""] = of(last, "ENV");
const port = /\bPORT=(\d+)/.exec(variables)?.[1];
const ignored = read(".dockerignore").split("\n").filter(Boolean);

describe("Dockerfile", () => {
  it("has a Node that this service runs on, of an exact line, in every stage", () => {
    const [, oldest] = /^>=(\d+)/.exec(manifest.engines.node) ?? [];
    const images = stages.flatMap((stage) => of(stage, "FROM")).map((from) => from.split(" ")[0] ?? "");
    expect(images).toHaveLength(3);
    expect(new Set(images).size).toBe(1);
    const [, major] = /^node:(\d+)-bookworm-slim$/.exec(images[0] ?? "") ?? [];
    expect(Number(major)).toBeGreaterThanOrEqual(Number(oldest));
  });

  it("copies what exists, or what the build makes, and runs it as a user without rights", () => {
    const made = ["dist", ".next", "node_modules"];
    const sources = stages
      .flatMap((stage) => of(stage, "COPY"))
      .flatMap((rest) =>
        rest
          .split(" ")
          .filter((word) => !word.startsWith("--"))
          .slice(0, -1),
      )
      .map((source) => source.replace(/^\/app\//, ""));
    expect(sources.length).toBeGreaterThan(10);
    expect(sources.filter((source) => !made.includes(source) && !existsSync(source))).toEqual([]);
    for (const name of [...made, ".git", "data", ".env*"]) expect(ignored).toContain(name);
    expect(of(last, "USER")).toEqual(["node"]);
    expect(last.findIndex(([name]) => name === "USER")).toBeLessThan(
      last.findIndex(([name]) => name === "CMD"),
    );
  });

  it("starts what npm start starts, without development packages and install scripts", () => {
    const [command = "[]"] = of(last, "CMD");
    expect(JSON.parse(command).join(" ")).toBe(manifest.scripts.start);
    const installs = stages.flatMap((stage) => of(stage, "RUN")).flatMap((run) => run.split(" && "));
    const ci = installs.filter((run) => run.startsWith("npm ci"));
    expect(ci).toHaveLength(2);
    expect(ci.every((run) => run.includes("--ignore-scripts"))).toBe(true);
    expect(of(stages[1] ?? [], "RUN")[0]).toContain("--omit=dev");
    const scripts = installs.flatMap((run) => /^npm run (\S+)/.exec(run)?.[1] ?? []);
    expect(scripts.filter((name) => !(name in manifest.scripts))).toEqual([]);
    for (const [, file = ""] of read("Dockerfile").matchAll(/import\('\.\/(.+?)'\)/g))
      expect(existsSync(file), file).toBe(true);
  });

  it("has the files that next.config.ts imports", () => {
    const imported = [...read("next.config.ts").matchAll(/from "\.\/(.+?)"/g)].map(
      ([, file]) => `${file}.ts`,
    );
    const copied = of(last, "COPY").join(" ");
    expect(imported.filter((file) => !copied.includes(file))).toEqual([]);
  });

  it("names settings that exist, one port, and a health check that asks for it", () => {
    const names = [...variables.matchAll(/\b([A-Z_]+)=/g)].map(([, name = ""]) => name);
    const own = names.filter((name) => !["NODE_ENV", "NEXT_TELEMETRY_DISABLED"].includes(name));
    expect(own.filter((name) => !(name in settingDefaults()))).toEqual([]);
    expect(of(last, "EXPOSE")).toEqual([port]);
    const health = last.find(([name]) => name === "HEALTHCHECK")?.[1] ?? "";
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as the container's Node reads it
    expect(health).toContain("127.0.0.1:${process.env.PORT}/v1/health");
    expect(of(last, "VOLUME")).toEqual([/\bDATA_DIR=(\S+)/.exec(variables)?.[1]]);
  });
});

describe("compose.yaml", () => {
  const { services, volumes } = parse(read("compose.yaml"));
  const { countersign, database } = services;

  it("publishes the image's port on loopback, keeps its volume, and gives it no rights", () => {
    expect(countersign.ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(countersign.volumes).toEqual([`data:${of(last, "VOLUME")[0]}`]);
    expect(Object.keys(volumes).sort()).toEqual(["data", "database"]);
    expect(countersign).toMatchObject({ build: ".", read_only: true, cap_drop: ["ALL"] });
  });

  it("waits for a database that the service takes, with the same name and password", () => {
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = database.environment;
    const { DATABASE_URL, ...others } = countersign.environment;
    expect(DATABASE_URL).toBe(
      `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@database:5432/${POSTGRES_DB}`,
    );
    expect(POSTGRES_PASSWORD).toMatch(/:\?/);
    expect(Object.keys(others).filter((name) => !(name in settingDefaults()))).toEqual([]);
    expect(Number(/^postgres:(\d+)/.exec(database.image)?.[1])).toBeGreaterThanOrEqual(15);
    expect(countersign.depends_on.database.condition).toBe("service_healthy");
    expect(database.healthcheck.test).toContain("pg_isready");
  });

  it("waits for a stop as long as the server may take for it", () => {
    const [, graceMs] = /graceMs = ([\d_]+)/.exec(read(path.join("lib", "http", "listen.ts"))) ?? [];
    const grace = Number(graceMs?.replaceAll("_", ""));
    expect(grace).toBeGreaterThan(0);
    expect(Number.parseInt(countersign.stop_grace_period, 10) * 1000).toBeGreaterThan(2 * grace);
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
});
