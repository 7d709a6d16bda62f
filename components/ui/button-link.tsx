/** A link that looks like a button. */
import Link from "next/link";
import type { ComponentProps } from "react";
import { type ButtonSize, type ButtonVariant, buttonClass } from "./button-style";

interface ButtonLinkProps extends ComponentProps<typeof Link> {
  readonly variant?: ButtonVariant;
  readonly size?: ButtonSize;
}

export function ButtonLink({ variant = "primary", size = "medium", className, ...rest }: ButtonLinkProps) {
  return <Link prefetch={false} {...rest} className={buttonClass(variant, size, className)} />;
}
