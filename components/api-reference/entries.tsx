/** Every documented operation, and the address of its page. */
import { innerSchema, type OpenApiDocument, type Operation, refName } from "./document";
import { findSuccess } from "./operation-parts";

export interface OperationEntry {
  /** Slug of its page, /docs/api/<slug>. */
  readonly slug: string;
  readonly method: string;
  readonly path: string;
  /** The server's address in front of the path. */
  readonly base: string;
  readonly operation: Operation;
}

export interface OperationGroup {
  readonly name: string;
  readonly entries: readonly OperationEntry[];
}

/** `createPresentation` → `create-presentation`, `log_tile` → `log-tile`. */
const toSlug = (operationId: string) =>
  operationId
    .replaceAll("_", "-")
    .replace(/[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase();

export function listEntries(document: OpenApiDocument): OperationEntry[] {
  const base = document.servers[0]?.url ?? "";
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      slug: toSlug(operation.operationId),
      method,
      path,
      base,
      operation,
    })),
  );
}

export function groupEntries(document: OpenApiDocument): OperationGroup[] {
  const all = listEntries(document);
  return document.tags
    .map(({ name }) => ({ name, entries: all.filter(({ operation }) => operation.tags[0] === name) }))
    .filter(({ entries }) => entries.length > 0);
}

export function findEntry(document: OpenApiDocument, slug: string): OperationEntry | null {
  return listEntries(document).find((entry) => entry.slug === slug) ?? null;
}

/** The operation that reads an object of this name: its page has the fields. */
export const findReader = (document: OpenApiDocument, name: string): OperationEntry | undefined =>
  listEntries(document).find(({ method, operation }) => {
    const { schema } = findSuccess(operation);
    return method === "get" && schema !== undefined && refName(schema) === name;
  });

/** Words for the search besides its path: its summary and the names of its fields. */
export function listWords({ operation }: OperationEntry, document: OpenApiDocument): string {
  const { summary, operationId, parameters, requestBody } = operation;
  const body = requestBody?.content["application/json"]?.schema;
  const answer = findSuccess(operation).schema;
  const fields = [body, answer].flatMap((schema) => {
    const whole = schema && (schema.properties ? schema : innerSchema(schema, document)?.schema);
    return Object.keys(whole?.properties ?? {});
  });
  return [...new Set([summary, operationId, ...parameters.map(({ name }) => name), ...fields])].join(" ");
}
