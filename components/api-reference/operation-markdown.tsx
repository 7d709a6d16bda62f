/** The reference as Markdown, for language models and for copying: one text for each operation, and a list of all. */
import { describeType, innerSchema, type OpenApiDocument, type Schema } from "./document";
import { groupEntries, type OperationEntry } from "./entries";
import { buildExample } from "./example-value";
import { findParameters, findSuccess } from "./operation-parts";
import { writeSamples } from "./samples";

const maxDepth = 4;

function listFields(schema: Schema, document: OpenApiDocument, path: readonly string[] = []): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const optional = schema.required?.includes(name) ? "" : ", optional";
    const words = field.description ? `: ${field.description}` : "";
    const line = `${"  ".repeat(path.length)}- \`${name}\` (${describeType(field)}${optional})${words}`;
    const inner = innerSchema(field, document);
    const label = inner?.name ?? name;
    const isDeep = path.length >= maxDepth || path.includes(label);
    return [line, ...(inner === null || isDeep ? [] : listFields(inner.schema, document, [...path, label]))];
  });
}

const fence = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\``;

function listSection(title: string, schema: Schema | undefined, document: OpenApiDocument): string[] {
  if (schema === undefined) return [];
  const lines = listFields(innerSchema(schema, document)?.schema ?? schema, document);
  return [`## ${title}`, lines.length === 0 ? describeType(schema) : lines.join("\n")];
}

export function writeOperation(entry: OperationEntry, document: OpenApiDocument): string {
  const { method, path, operation } = entry;
  const parameters = findParameters(operation);
  const success = findSuccess(operation);
  const errors = Object.entries(operation.responses)
    .filter(([status]) => !status.startsWith("2"))
    .map(([status, { description }]) => `- ${status}: ${description}`);
  return [
    `# ${operation.summary}`,
    `\`${method.toUpperCase()} ${path}\``,
    ...(operation.description ? [operation.description] : []),
    ...listSection("Parameters", parameters ?? undefined, document),
    ...listSection("Request body", operation.requestBody?.content["application/json"]?.schema, document),
    "## Example",
    ...writeSamples(entry).map(({ fence: language, code }) => fence(language, code)),
    ...listSection(`Response ${success.statuses}`, success.schema, document),
    ...(success.isJson && success.schema
      ? ["Example:", fence("json", JSON.stringify(buildExample(success.schema, document), null, 2))]
      : []),
    "## Errors",
    errors.join("\n"),
    "",
  ].join("\n\n");
}

/** `base` without a trailing slash. */
export function writeOperationList(document: OpenApiDocument, base: string): string {
  const groups = groupEntries(document).map(({ name, entries }) => {
    const lines = entries.map(
      ({ slug, method, path, operation }) =>
        `- [${method.toUpperCase()} ${path}](${base}/docs/api/${slug}.md): ${operation.summary}`,
    );
    return `## ${name}\n\n${lines.join("\n")}`;
  });
  return ["# API reference", ...groups, ""].join("\n\n");
}
