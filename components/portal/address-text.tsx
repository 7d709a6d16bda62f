/** Text that may have an email address in it, which breaks after its @ before it breaks within a name. */
import { AgentText } from "#components/agent-text";

export function AddressText({ value }: { readonly value: string }) {
  const end = value.indexOf("@") + 1;
  if (end === 0 || end === value.length) return <AgentText value={value} hideWarnings />;
  return (
    <>
      <AgentText value={value.slice(0, end)} hideWarnings />
      <wbr />
      <AgentText value={value.slice(end)} hideWarnings />
    </>
  );
}
