/** The API reference: the OpenAPI document as a page of text, readable without JavaScript. */
import type { OpenApiDocument } from "./document";
import { OperationSection } from "./operation-section";
import { SchemaFields } from "./schema-fields";

export function ApiReference({ document }: { readonly document: OpenApiDocument }) {
  const base = document.servers[0]?.url ?? "";
  const all = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const mount = operation.servers?.[0]?.url.slice(base.length) ?? "";
      return { path: mount + path, method, operation };
    }),
  );
  const groups = document.tags
    .map(({ name }) => ({ name, members: all.filter(({ operation }) => operation.tags[0] === name) }))
    .filter(({ members }) => members.length > 0);
  return (
    <>
      <nav aria-label="Operations" className="mt-8 grid gap-x-8 gap-y-4 sm:grid-cols-2">
        {groups.map(({ name, members }) => (
          <div key={name}>
            <p className="font-medium text-[15px]">{name}</p>
            <ul className="mt-1">
              {members.map(({ operation, path, method }) => (
                <li key={operation.operationId}>
                  <a
                    href={`#${operation.operationId}`}
                    className="inline-flex min-h-8 items-center font-mono text-[13px] text-accent [overflow-wrap:anywhere] hover:underline"
                  >
                    {method.toUpperCase()} {path}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      {groups.map(({ name, members }) => (
        <section key={name} aria-label={name} className="mt-12">
          <h2 className="mb-4 font-semibold text-xl">{name}</h2>
          {members.map((member) => (
            <OperationSection key={member.operation.operationId} base={base} {...member} />
          ))}
        </section>
      ))}
      <section aria-label="Schemas" className="mt-12">
        <h2 className="mb-4 font-semibold text-xl">Schemas</h2>
        {Object.entries(document.components.schemas).map(([name, schema]) => (
          <section key={name} id={`schema-${name}`} aria-label={name} className="border-line border-t py-6">
            <h3 className="mb-2 font-mono font-semibold">{name}</h3>
            <SchemaFields schema={schema} />
          </section>
        ))}
      </section>
    </>
  );
}
