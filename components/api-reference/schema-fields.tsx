/** The fields of an object, each with its type; nested objects are indented under their field. */
import { Description } from "./description";
import { describeType, linkedSchema, type Schema } from "./document";

function TypeText({ schema }: { readonly schema: Schema }) {
  const link = linkedSchema(schema);
  const text = describeType(schema);
  return link === null ? (
    text
  ) : (
    <a href={`#schema-${link}`} className="text-accent hover:underline">
      {text}
    </a>
  );
}

/** What a field holds, if it is an object without a name of its own. */
function innerObject(schema: Schema): Schema | null {
  const candidates = [schema, schema.items, ...(schema.anyOf ?? [])];
  return candidates.find((one) => one?.properties !== undefined) ?? null;
}

function Field({
  name,
  schema,
  isRequired,
}: {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}) {
  const inner = innerObject(schema);
  return (
    <>
      <dt className="mt-2 font-mono text-[13px]">
        {name}
        {isRequired ? null : <span className="ml-2 font-sans text-muted">optional</span>}
      </dt>
      <dd className="text-[14px] text-muted">
        <span className="[overflow-wrap:anywhere]">
          <TypeText schema={schema} />
        </span>
        {schema.description ? (
          <span className="block">
            <Description text={schema.description} />
          </span>
        ) : null}
        {inner === null ? null : <SchemaFields schema={inner} />}
      </dd>
    </>
  );
}

export function SchemaFields({ schema }: { readonly schema: Schema }) {
  const entries = Object.entries(schema.properties ?? {});
  if (entries.length === 0) {
    return (
      <p className="text-[14px] text-muted">
        <TypeText schema={schema} />
      </p>
    );
  }
  return (
    <dl className="border-line border-l pl-3">
      {entries.map(([name, field]) => (
        <Field key={name} name={name} schema={field} isRequired={schema.required?.includes(name) ?? false} />
      ))}
    </dl>
  );
}
