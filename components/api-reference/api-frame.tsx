/** A page of the API reference, whose list of operations is in the documentation's own. */
import type { ReactNode } from "react";

export function ApiFrame({ children }: { readonly children: ReactNode }) {
  return <article className="max-w-4xl">{children}</article>;
}
