/**
 * Dockerfile by hadolint, and the Helm chart rendered by helm and compared with Kubernetes' own schemas. All three come from
 * registries: without them these tests say that they are skipped.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { expectExit, runProgram } from "#support/commands";
import { finalStage, restsOf } from "#support/dockerfile";
import { findHelm } from "#support/helm";
import { isPythonWanted, requirePython } from "#support/python";
import { settingDefaults } from "./env";

const helm = await findHelm();
const chart = "deploy/helm";
const folder = mkdtempSync(path.join(tmpdir(), "countersign-chart-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
/** Called by module: the script beside Python names the folder in which it was installed. */
const validate = async (...words: string[]) => {
  const main = "import sys, kubernetes_validate.__main__ as v; sys.exit(v.main())";
  return runProgram(await requirePython("deploy"), ["-c", main, ...words], { env });
};
const render = (values: object) => {
  const file = path.join(folder, "values.json");
  writeFileSync(file, JSON.stringify(values));
  const words = ["template", "trial", chart, "--kube-version", "1.33.0", "--values", file];
  return runProgram(helm ?? "", words, { env });
};

describe.skipIf(!isPythonWanted)("Dockerfile", () => {
  it("has nothing that hadolint would do otherwise, and what it would is noticed", async () => {
    const hadolint = path.join(path.dirname(await requirePython("deploy")), "hadolint");
    const done = await runProgram(hadolint, ["Dockerfile"], { env });
    expect(done).toEqual({ code: 0, out: "" });
    const planted = path.join(folder, "Dockerfile");
    writeFileSync(planted, readFileSync("Dockerfile", "utf8").replace("USER 1000:1000", "USER root"));
    const noticed = await runProgram(hadolint, [planted], { env });
    expect([noticed.code, noticed.out]).toEqual([1, expect.stringContaining("DL3002")]);
  });
});

const usual = { publicUrl: "https://countersign.example.com", existingSecret: "countersign" };
const all = {
  ...usual,
  replicas: 3,
  settings: {
    METRICS_PORT: "9464",
    METRICS_HOST: "0.0.0.0",
    MAIL_FROM: "Countersign <no-reply@example.com>",
  },
  image: { tag: `sha256:${"a".repeat(64)}`, pullSecrets: ["registry"] },
  persistence: { storageClass: "fast" },
  ingress: { enabled: true, className: "nginx", tlsSecret: "tls", annotations: { a: "b" } },
  nodeSelector: { disk: "ssd" },
  tolerations: [{ key: "a", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
};

describe.skipIf(helm === null)("Helm chart", () => {
  it.skipIf(!isPythonWanted).each([usual, all])("renders what Kubernetes takes: %j", async (values) => {
    const done = await render(values);
    expectExit(done, 0);
    const file = path.join(folder, "rendered.yaml");
    writeFileSync(file, done.out);
    for (const version of ["1.27", "1.33", "1.36"])
      expectExit(await validate("-k", version, "--strict", file), 0);
    writeFileSync(file, done.out.replace("containerPort: 3000", "containerPort: http"));
    expectExit(await validate("--strict", file), 1);
  });

  it("starts the image as it was made: its port, its user, its probe, no secret in the chart", async () => {
    const { out } = await render(all);
    const rendered = parseAllDocuments(out).map((document) => document.toJSON());
    expect(rendered.map(({ kind }) => kind).sort()).toEqual([
      "Ingress",
      "PodDisruptionBudget",
      "Service",
      "StatefulSet",
    ]);
    const { spec } = rendered.find(({ kind }) => kind === "StatefulSet").spec.template;
    const [container] = spec.containers;
    expect(container.ports).toMatchObject([
      { containerPort: Number(restsOf(finalStage, "EXPOSE")[0]) },
      { containerPort: 9464 },
    ]);
    expect(`${spec.securityContext.runAsUser}:${spec.securityContext.runAsGroup}`).toBe(
      restsOf(finalStage, "USER")[0],
    );
    expect(restsOf(finalStage, "HEALTHCHECK")[0]).toContain(container.readinessProbe.httpGet.path);
    expect(container.image).toBe(`countersign@sha256:${"a".repeat(64)}`);
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true });
    const known = settingDefaults();
    for (const { name } of container.env) expect(known).toHaveProperty(name);
    expect(rendered.find(({ kind }) => kind === "Ingress").spec.rules[0].host).toBe(
      "countersign.example.com",
    );
    // The image has nothing that the chart would have to bring along.
    expect(readdirSync(path.join(chart, "templates"))).not.toContain("secret.yaml");
    expect(parse(readFileSync(path.join(chart, "Chart.yaml"), "utf8")).appVersion).toBe(
      JSON.parse(readFileSync("package.json", "utf8")).version,
    );
  });

  it.each([
    [{}, "publicUrl: set it to the https address"],
    [{ publicUrl: "http://a.example" }, "does not match pattern"],
    [{ publicUrl: "https://a.example" }, "existingSecret: name a Secret that has DATABASE_URL"],
    [{ ...usual, settings: { SMTP_URL: "smtp://a:b@c" } }, "settings.SMTP_URL: put it into the Secret"],
    [{ ...usual, settings: { SIGNING_KEY: "a" } }, "settings.SIGNING_KEY: put it into the Secret"],
    [{ ...usual, settings: { PORT: "80" } }, "settings.PORT: leave it out, because the chart sets it"],
    [{ ...usual, replica: 2 }, "additional properties 'replica' not allowed"],
  ])("refuses in words what can't start: %j", async (values, says) => {
    const done = await render(values);
    expect([done.code, done.out]).toEqual([1, expect.stringContaining(says)]);
  });
});
