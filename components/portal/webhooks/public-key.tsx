/** An endpoint's public key, or what to do if the server has lost what reads it. */
import { HashText } from "#components/ui/code-block";

export function PublicKey({ text, label }: { readonly text: string | null; readonly label: string }) {
  if (text === null) return "This server can't read the keys any more. Rotate them.";
  return <HashText value={text} label={label} />;
}
