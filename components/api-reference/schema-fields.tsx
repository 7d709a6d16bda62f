/** The fields of an object, each with its type. Named objects unfold in place or are on a page of their own; the others are indented under their field. */
import { TextLink } from "#components/ui/text-link";
import { Description } from "./description";
import { describeType, innerSchema, type OpenApiDocument, type Schema } from "./document";
import { findReader } from "./entries";

interface FieldsProps {
  readonly schema: Schema;
  readonly document: OpenApiDocument;
  /** The named objects around this one: one inside itself is not unfolded again. */
  readonly around?: readonly string[];
}

const maxDepth = 4;

function Inner({ schema, document, around = [] }: FieldsProps) {
  const inner = innerSchema(schema, document);
  if (inner === null || inner.schema.properties === undefined) return null;
  const { name } = inner;
  if (name === null) return <SchemaFields schema={inner.schema} document={document} around={around} />;
  if (around.includes(name) || around.length >= maxDepth) return null;
  const reader = findReader(document, name);
  if (reader)
    return (
      <p>
        <TextLink href={`/docs/api/${reader.slug}`}>Fields of {name}</TextLink>
      </p>
    );
  return (
    <details>
      <summary>Fields of {name}</summary>
      <SchemaFields schema={inner.schema} document={document} around={[...around, name]} />
    </details>
  );
}

function Field({
  name,
  isRequired,
  ...rest
}: FieldsProps & { readonly name: string; readonly isRequired: boolean }) {
  const { schema } = rest;
  return (
    <>
      <dt>
        {name}
        {isRequired ? null : <i>optional</i>}
      </dt>
      <dd>
        {describeType(schema)}
        {schema.description ? (
          <p>
            <Description text={schema.description} />
          </p>
        ) : null}
        <Inner {...rest} />
      </dd>
    </>
  );
}

export function SchemaFields({ schema, document, around = [] }: FieldsProps) {
  const entries = Object.entries(schema.properties ?? {});
  if (entries.length === 0) return <p className="text-[14px] text-muted">{describeType(schema)}</p>;
  return (
    <dl className="fields">
      {entries.map(([name, field]) => (
        <Field
          key={name}
          name={name}
          schema={field}
          document={document}
          around={around}
          isRequired={schema.required?.includes(name) ?? false}
        />
      ))}
    </dl>
  );
}
