/** The name of an event, which may break at its dot. */
export function EventName({ name }: { readonly name: string }) {
  const [noun, ...rest] = name.split(".");
  return (
    <>
      {noun}
      {rest.length === 0 ? null : (
        <>
          .<wbr />
          {rest.join(".")}
        </>
      )}
    </>
  );
}
