/** One look for buttons and for links that look like buttons. */

export type ButtonVariant = "primary" | "neutral" | "secondary" | "quiet" | "danger";
export type ButtonSize = "small" | "medium" | "large";

const variants: Record<ButtonVariant, string> = {
  primary: "bg-accent-fill text-on-accent hover:bg-accent-hover border-transparent",
  neutral: "bg-ink text-canvas border-transparent hover:opacity-90",
  secondary: "bg-surface text-ink border-line-strong hover:bg-sunken",
  danger: "bg-fail-fill text-on-accent border-transparent hover:brightness-90",
  quiet: "bg-transparent text-accent border-transparent hover:bg-sunken",
};

/** `large` is for a decision on a phone: 56 px high. */
const sizes: Record<ButtonSize, string> = {
  small: "wide-touch min-h-9 px-3 text-sm",
  medium: "min-h-11 px-4 text-[15px]",
  large: "min-h-14 px-6 text-lg",
};

export function buttonClass(variant: ButtonVariant, size: ButtonSize, className = ""): string {
  return `inline-flex cursor-pointer items-center justify-center gap-2 rounded-md border text-center font-medium no-underline transition-colors disabled:cursor-not-allowed disabled:opacity-60 ${variants[variant]} ${sizes[size]} ${className}`;
}
