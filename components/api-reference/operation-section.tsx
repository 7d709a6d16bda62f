/** One operation: what goes in, an example that works as shown, what comes out. */
import { CodeBlock } from "#components/ui/code-block";
import { Description } from "./description";
import type { Operation, Schema } from "./document";
import { SchemaFields } from "./schema-fields";

interface OperationSectionProps {
  readonly method: string;
  readonly path: string;
  readonly base: string;
  readonly operation: Operation;
}

function curlExample({ method, path, base, operation }: OperationSectionProps): string {
  const isKeyed = operation.security.length === 1;
  const example = operation.requestBody?.content["application/json"]?.example;
  const lines = [
    `curl -fsS ${method === "get" ? "" : `-X ${method.toUpperCase()} `}'${base}${path}'`,
    ...(isKeyed ? ['  -H "Authorization: Bearer $COUNTERSIGN_API_KEY"'] : []),
    ...(example === undefined
      ? []
      : ["  -H 'Content-Type: application/json'", `  -d '${JSON.stringify(example, null, 2)}'`]),
  ];
  return lines.join(" \\\n");
}

function Block({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <div className="mt-5">
      <h4 className="mb-1 font-medium text-[15px]">{title}</h4>
      {children}
    </div>
  );
}

function parametersAsSchema({ parameters }: Operation): Schema {
  return {
    properties: Object.fromEntries(
      parameters.map((one) => [
        one.name,
        { ...one.schema, description: `in ${one.in}${one.description ? `: ${one.description}` : ""}` },
      ]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  };
}

export function OperationSection(props: OperationSectionProps) {
  const { method, path, operation } = props;
  const body = operation.requestBody?.content["application/json"]?.schema;
  return (
    <section id={operation.operationId} className="border-line border-t py-8">
      <h3 className="font-semibold text-lg">{operation.summary}</h3>
      <p className="mt-1 font-mono text-[14px] [overflow-wrap:anywhere]">
        <span className="mr-2 rounded border border-line bg-sunken px-1.5 py-0.5 font-semibold text-[12px] uppercase">
          {method}
        </span>
        {path}
      </p>
      {operation.description ? (
        <p className="mt-2 text-muted">
          <Description text={operation.description} />
        </p>
      ) : null}
      {operation.parameters.length > 0 ? (
        <Block title="Parameters">
          <SchemaFields schema={parametersAsSchema(operation)} />
        </Block>
      ) : null}
      {body ? (
        <Block title="Request body">
          <SchemaFields schema={body} />
        </Block>
      ) : null}
      <Block title="Example">
        <CodeBlock code={curlExample(props)} label={`Example of ${operation.summary}`} title="Shell" />
      </Block>
      <Block title="Responses">
        <ul className="grid gap-2">
          {Object.entries(operation.responses).map(([status, { description, content }]) => {
            const schema = content?.["application/json"]?.schema;
            return (
              <li key={status} className="text-[14px]">
                <span className="font-mono font-semibold">{status}</span>{" "}
                <span className="text-muted">
                  <Description text={description} />
                </span>
                {schema ? <SchemaFields schema={schema} /> : null}
              </li>
            );
          })}
        </ul>
      </Block>
    </section>
  );
}
