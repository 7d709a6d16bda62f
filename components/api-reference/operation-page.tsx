/** One operation: what goes in, how it is called, what comes out. Readable without JavaScript. */
import type { ReactNode } from "react";
import { Syntax } from "#components/syntax";
import { CodeBlock } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import { CodeTabs } from "./code-tabs";
import { CopyMarkdown } from "./copy-markdown";
import { Description } from "./description";
import { innerSchema, type OpenApiDocument, type Schema } from "./document";
import type { OperationEntry } from "./entries";
import { buildExample } from "./example-value";
import { findParameters, findSuccess } from "./operation-parts";
import { type Sample, writeSamples } from "./samples";
import { SchemaFields } from "./schema-fields";

interface OperationPageProps {
  readonly entry: OperationEntry;
  readonly document: OpenApiDocument;
}

function Part({
  id,
  title,
  children,
}: {
  readonly id: string;
  readonly title: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section aria-labelledby={id} className="mt-10">
      <h2 id={id} className="mb-3 font-semibold text-xl">
        {title}
      </h2>
      {children}
    </section>
  );
}

/** A named object's own fields, not its name. */
function Fields({ schema, document }: { readonly schema: Schema; readonly document: OpenApiDocument }) {
  const inner = schema.properties === undefined ? innerSchema(schema, document) : null;
  const around = inner?.name ? [inner.name] : [];
  return <SchemaFields schema={inner?.schema ?? schema} document={document} around={around} />;
}

function Heading({ method, path, slug, operation }: OperationEntry) {
  return (
    <>
      <h1 className="font-semibold text-[1.75rem] leading-tight">{operation.summary}</h1>
      <p className="mt-3 font-mono text-[15px] [overflow-wrap:anywhere]">
        <span className="mr-2 rounded border border-line bg-sunken px-1.5 py-0.5 font-semibold text-[12px] uppercase">
          {method}
        </span>
        {path}
      </p>
      {operation.description ? (
        <p className="mt-3 text-muted">
          <Description text={operation.description} />
        </p>
      ) : null}
      <p className="no-print mt-4 flex flex-wrap items-center gap-x-4 gap-y-2 text-sm">
        <CopyMarkdown href={`/docs/api/${slug}.md`} />
        <TextLink href={`/docs/api/${slug}.md`}>View as Markdown</TextLink>
      </p>
    </>
  );
}

function Errors({ operation }: OperationEntry) {
  const errors = Object.entries(operation.responses).filter(([status]) => !status.startsWith("2"));
  return (
    <>
      <ul className="grid gap-2">
        {errors.map(([status, { description }]) => (
          <li key={status} className="text-[15px]">
            <span className="font-mono font-semibold">{status}</span>{" "}
            <span className="text-muted">
              <Description text={description} />
            </span>
          </li>
        ))}
      </ul>
      <p className="mt-3 text-[15px] text-muted">
        All errors have <TextLink href="/docs/errors">one shape</TextLink>, with a code that says what to do.
      </p>
    </>
  );
}

const colour = (sample: Sample) => ({
  ...sample,
  coloured: <Syntax code={sample.code} language={sample.fence} />,
});

export function OperationPage({ entry, document }: OperationPageProps) {
  const { operation } = entry;
  const parameters = findParameters(operation);
  const body = operation.requestBody?.content["application/json"]?.schema;
  const success = findSuccess(operation);
  const example =
    success.schema === undefined ? "" : JSON.stringify(buildExample(success.schema, document), null, 2);
  return (
    <>
      <Heading {...entry} />
      <div className="mt-8">
        <CodeTabs samples={writeSamples(entry).map(colour)} label={operation.summary} />
      </div>
      {parameters === null ? null : (
        <Part id="parameters" title="Parameters">
          <SchemaFields schema={parameters} document={document} />
        </Part>
      )}
      {body === undefined ? null : (
        <Part id="request" title="Request body">
          <Fields schema={body} document={document} />
        </Part>
      )}
      <Part id="response" title={`Response ${success.statuses}`}>
        {success.isJson ? null : <p className="mb-3 text-muted">{success.mediaType}</p>}
        {success.schema === undefined ? null : <Fields schema={success.schema} document={document} />}
        {success.isJson && success.schema ? (
          <div className="mt-5">
            <CodeBlock
              label="Example of the response"
              title="Example"
              code={example}
              coloured={<Syntax code={example} language="json" />}
            />
          </div>
        ) : null}
      </Part>
      <Part id="errors" title="Errors">
        <Errors {...entry} />
      </Part>
    </>
  );
}
