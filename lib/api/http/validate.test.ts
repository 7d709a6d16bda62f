/** Validation messages are the service's own, whatever was sent in a field's place. */
import { expect, it } from "vitest";
import { requestExamples } from "#lib/api/operations/examples";
import { type OperationId, operations } from "#lib/api/operations/index";
import { AppError } from "#lib/errors";
import { validate } from "./pipeline";

const otherValues = [-1, 0.5, 1e9, "", " ", "x".repeat(100_000), true, [], [1], {}, { x: 1 }];

function listMessages(id: OperationId, body: unknown): string[] {
  const { body: schema } = operations[id] as { body?: Parameters<typeof validate>[0] };
  if (schema === undefined) throw new Error(`${id} takes no body`);
  try {
    validate(schema, body, "validation_error");
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return (error.errors ?? []).map(({ pointer, message }) => `${id} ${pointer}: ${message}`);
  }
}

it("tells each field of each operation so", () => {
  const withSchema = Object.entries(requestExamples).filter(
    ([name]) => "body" in operations[name as OperationId],
  );
  const messages = withSchema.flatMap(([name, example]) => {
    const id = name as OperationId;
    const bodies = Object.keys(example).flatMap((field) =>
      otherValues.map((value) => ({ ...example, [field]: value })),
    );
    return [...bodies, ...otherValues].flatMap((body) => listMessages(id, body));
  });
  const distinct = [...new Set(messages)];
  expect(distinct.length).toBeGreaterThan(150);
  expect(distinct).toContain("authorize /context: must be an object");
  expect(distinct).toContain("attest : must be an object");
  expect(distinct.filter((message) => /: (?:Invalid|Too|Unrecognized|expected)/i.test(message))).toEqual([]);
});
