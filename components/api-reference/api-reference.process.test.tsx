/** Every operation has a page, with examples that fit its schemas and samples that parse. */
import { transform } from "esbuild";
import { describe, expect, it } from "vitest";
import { operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import { readDocument } from "./document";
import { groupEntries, listEntries, listWords } from "./entries";
import { buildExample, examplePath } from "./example-value";
import { writeOperation, writeOperationList } from "./operation-markdown";
import { findSuccess } from "./operation-parts";
import { toPython, writeSamples } from "./samples";

const base = "http://localhost:3000";
const document = readDocument(base);
const entries = listEntries(document);
const open = Object.entries(operations as Record<string, OperationSpec>).filter(([, spec]) => !spec.internal);

describe("the API reference", () => {
  it("has a page of its own for each operation, in one group", () => {
    expect(entries.map(({ operation }) => operation.operationId).sort()).toEqual(
      open.map(([id]) => id).sort(),
    );
    expect(new Set(entries.map(({ slug }) => slug)).size).toBe(entries.length);
    for (const { slug } of entries) expect(slug).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(groupEntries(document).flatMap((group) => group.entries)).toHaveLength(entries.length);
  });

  it.each(entries)("$slug: the example of the response is one", ({ operation }) => {
    const { schema, isJson, statuses } = findSuccess(operation);
    if (!isJson || schema === undefined) return;
    const shape = (operations as Record<string, OperationSpec>)[operation.operationId]?.responses[
      Number.parseInt(statuses, 10)
    ];
    expect(shape).toBeDefined();
    const example = buildExample(schema, document);
    const parsed = shape?.safeParse(example);
    expect(parsed?.error?.issues ?? [], JSON.stringify(example, null, 1)).toEqual([]);
  });

  it.each(entries)("$slug: the samples parse, and call what they say", async (entry) => {
    const samples = writeSamples(entry);
    expect(samples.map(({ id }) => id)).toEqual(["curl", "typescript", "python"]);
    const url = base + examplePath(entry.path);
    expect(url).not.toMatch(/[{}]/);
    for (const { id, code } of samples) {
      const isClient = code.includes("countersign.");
      if (!isClient) expect(code).toContain(url);
      if (id === "typescript") await transform(code, { loader: "ts", format: "esm" });
      if (entry.operation.security.length === 1) expect(code).toContain("COUNTERSIGN_API_KEY");
    }
  });

  it.each(entries)("$slug: the Markdown has every field, status and sample", (entry) => {
    const text = writeOperation(entry, document);
    const { operation } = entry;
    const names = listWords(entry, document)
      .split(" ")
      .filter((word) => /^[a-z]+_[a-z_]+$/.test(word));
    for (const name of names) if (name !== operation.operationId) expect(text).toContain(name);
    for (const status of Object.keys(operation.responses)) expect(text).toContain(status);
    for (const { code } of writeSamples(entry)) expect(text).toContain(code);
    expect(text, "says a type once").not.toMatch(/\b(\w+) or \1\b/);
    expect(writeOperationList(document, base)).toContain(`${base}/docs/api/${entry.slug}.md`);
  });

  it("writes JSON as Python does", () => {
    expect(toPython({ a: null, b: [true, 1.5, "“x”"], c: {} })).toBe(
      '{\n    "a": None,\n    "b": [True, 1.5, "“x”"],\n    "c": {},\n}',
    );
  });
});
