/** A field's name, which breaks after an underscore and not within a word. */
import { Fragment } from "react";

export function FieldName({ name }: { readonly name: string }) {
  const [first, ...others] = name.split("_");
  return (
    <code className="font-mono text-[13px]">
      {first}
      {others.map((word) => (
        <Fragment key={word}>
          _<wbr />
          {word}
        </Fragment>
      ))}
    </code>
  );
}
