/** A button. `type` is "button" unless said otherwise, so that Enter in a form never presses it by surprise. */
import type { ComponentProps } from "react";
import { type ButtonSize, type ButtonVariant, buttonClass } from "./button-style";

interface ButtonProps extends ComponentProps<"button"> {
  readonly variant?: ButtonVariant;
  readonly size?: ButtonSize;
}

export function Button({
  variant = "primary",
  size = "medium",
  type = "button",
  className,
  ...rest
}: ButtonProps) {
  return <button {...rest} type={type} className={buttonClass(variant, size, className)} />;
}
