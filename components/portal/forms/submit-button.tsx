"use client";
/** Sends its form; says so while it waits, and cannot be pressed twice. */
import type { ReactNode } from "react";
import { useFormStatus } from "react-dom";
import { Button } from "#components/ui/button";
import type { ButtonSize, ButtonVariant } from "#components/ui/button-style";

interface SubmitButtonProps {
  readonly children: ReactNode;
  readonly variant?: ButtonVariant;
  readonly size?: ButtonSize;
  /** Replaces the form's own action. */
  readonly formAction?: (form: FormData) => void;
}

export function SubmitButton({ children, variant = "primary", size = "medium", ...rest }: SubmitButtonProps) {
  const { pending } = useFormStatus();
  return (
    <Button type="submit" variant={variant} size={size} disabled={pending} aria-busy={pending} {...rest}>
      {children}
    </Button>
  );
}
