/** Every operation in a line, each under an anchor of its id. */
import { PageLink } from "#components/ui/page-link";
import type { OperationGroup } from "./entries";

export function OperationIndex({ groups }: { readonly groups: readonly OperationGroup[] }) {
  return groups.map(({ name, entries }) => (
    <section key={name} aria-label={name} className="mt-10">
      <h2 className="font-semibold text-lg">{name}</h2>
      <ul className="mt-3 divide-y divide-line border-line border-y">
        {entries.map(({ slug, method, path, operation }) => (
          <li key={slug} id={operation.operationId}>
            <PageLink href={`/docs/api/${slug}`} className="group block py-3">
              <span className="block font-mono text-[13px] text-accent [overflow-wrap:anywhere] group-hover:underline">
                {method.toUpperCase()} {path}
              </span>
              <span className="block text-[15px] text-muted">{operation.summary}</span>
            </PageLink>
          </li>
        ))}
      </ul>
    </section>
  ));
}
