/** Tests that an answer is one that the OpenAPI document describes. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";
import { describedPath } from "#lib/api/openapi";
import { type OperationId, operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import type { TestAnswer } from "./app";

/** Status, headers and body. */
// biome-ignore lint/suspicious/noExplicitAny: the document is read freely
export function describedAnswers(document: any): (id: OperationId, answer: TestAnswer) => void {
  // Shrinking the code of hundreds of schemas takes longer than it saves; most share the same few parts.
  const ajv = new Ajv2020({ strict: false, allErrors: true, inlineRefs: false, code: { optimize: false } });
  addFormats(ajv);
  ajv.addSchema(document, "openapi");
  return (id, { status, headers, body }) => {
    const spec: OperationSpec = operations[id];
    const listed = describedPath(spec);
    const described = document.paths[listed]?.[spec.method.toLowerCase()]?.responses[status];
    expect([id, status, described === undefined]).toEqual([id, status, false]);
    for (const name of Object.keys(described.headers)) {
      if (name !== "Idempotency-Replayed")
        expect([id, status, name, headers.has(name)]).toEqual([id, status, name, true]);
    }
    const [mediaType = "", content = {}] = Object.entries(described.content)[0] ?? [];
    expect([id, status, headers.get("content-type")?.split(";")[0]]).toEqual([id, status, mediaType]);
    const pointer = `/paths/${listed.replaceAll("/", "~1")}/${spec.method.toLowerCase()}/responses/${status}/content/${mediaType.replaceAll("/", "~1")}/schema`;
    expect(content).toHaveProperty("schema");
    const validate = ajv.getSchema(`openapi#${encodeURI(pointer)}`);
    const isValid = validate?.(body);
    expect([id, status, validate?.errors ?? null, isValid]).toEqual([id, status, null, true]);
  };
}
