/** Form fields on plain HTML controls, so that a form works before and without JavaScript. */
import type { ComponentProps, ReactNode } from "react";

interface FieldProps {
  /** The control's id; hint and error are `${id}-hint` and `${id}-error`. */
  readonly id: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly children: ReactNode;
}

export function Field({ id, label, hint, error, children }: FieldProps) {
  return (
    <div className="flex flex-col gap-1.5">
      <label htmlFor={id} className="font-medium text-[15px]">
        {label}
      </label>
      {hint ? (
        <p id={`${id}-hint`} className="text-muted text-sm">
          {hint}
        </p>
      ) : null}
      {children}
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

export function FieldError({ id, error }: { readonly id: string; readonly error: string | undefined }) {
  if (!error) return null;
  return (
    <p id={id} className="font-medium text-fail text-sm">
      Not accepted: {error}
    </p>
  );
}

/** Attributes by which a control inside a Field has its hint and error read out. */
export function describeControl(id: string, parts: { hint?: boolean; error?: string | boolean | undefined }) {
  const ids = [parts.hint ? `${id}-hint` : "", parts.error ? `${id}-error` : ""].filter(Boolean).join(" ");
  return {
    id,
    ...(ids ? { "aria-describedby": ids } : {}),
    ...(parts.error ? { "aria-invalid": true } : {}),
  };
}

// 16 px text: smaller makes phones zoom in on focus.
const control =
  "min-h-11 w-full rounded-md border border-line-strong bg-surface px-3 text-base text-ink placeholder:text-muted aria-[invalid]:border-fail disabled:opacity-60";

export function Input({ className = "", ...rest }: ComponentProps<"input">) {
  return <input {...rest} className={`${control} ${className}`} />;
}

export function FileInput(props: Omit<ComponentProps<"input">, "type" | "className">) {
  return (
    <input
      {...props}
      type="file"
      className="min-h-11 w-full text-sm file:mr-3 file:min-h-9 file:cursor-pointer file:rounded-md file:border file:border-line-strong file:bg-surface file:px-3 file:text-ink"
    />
  );
}

export function Textarea({ className = "", ...rest }: ComponentProps<"textarea">) {
  return <textarea {...rest} className={`${control} py-2 ${className}`} />;
}

/** React resets a form that was sent, and a select that stays goes back to its first default: another default, another select. */
export function Select({ className = "", ...rest }: ComponentProps<"select">) {
  return <select key={String(rest.defaultValue)} {...rest} className={`${control} ${className}`} />;
}

interface CheckboxProps extends ComponentProps<"input"> {
  readonly type?: "checkbox" | "radio";
  readonly label: ReactNode;
  readonly hint?: ReactNode;
}

export function Checkbox({ label, hint, type = "checkbox", className = "", ...rest }: CheckboxProps) {
  return (
    <label className="flex min-h-11 cursor-pointer items-start gap-3 py-2">
      <input
        {...rest}
        type={type}
        className={`mt-0.5 size-5 shrink-0 accent-[var(--accent-fill)] ${className}`}
      />
      <span>
        <span className="block text-[15px]">{label}</span>
        {hint ? <span className="block text-muted text-sm">{hint}</span> : null}
      </span>
    </label>
  );
}
