/** Names of fields and events, which break after an underscore or a dot and not within a word. */
import { Fragment } from "react";

export const BreakableName = ({ name }: { readonly name: string }) =>
  name.split(/(?<=[._])/).map((part, index) => (
    <Fragment key={part}>
      {index > 0 ? <wbr /> : null}
      {part}
    </Fragment>
  ));

export const FieldName = ({ name }: { readonly name: string }) => (
  <code className="font-mono text-[13px]">
    <BreakableName name={name} />
  </code>
);
