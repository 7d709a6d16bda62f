/** A link that looks like a button. */
import { type ButtonSize, type ButtonVariant, buttonClass } from "./button-style";
import type { LinkProps } from "./navigation";
import { PageLink } from "./page-link";

interface ButtonLinkProps extends LinkProps {
  readonly variant?: ButtonVariant;
  readonly size?: ButtonSize;
}

export function ButtonLink({ variant = "primary", size = "medium", className, ...rest }: ButtonLinkProps) {
  return <PageLink {...rest} className={buttonClass(variant, size, className)} />;
}
