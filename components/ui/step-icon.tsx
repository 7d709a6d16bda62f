import { CheckCircleIcon } from "#components/ui/icons";

/** State of a step in a list; its words say the same. */
export function StepIcon({ isDone }: { readonly isDone: boolean }) {
  const place = "mt-0.5 size-5 shrink-0";
  return isDone ? (
    <CheckCircleIcon aria-hidden="true" className={`${place} text-pass`} />
  ) : (
    <span aria-hidden="true" className={`${place} rounded-full border-2 border-line-strong`} />
  );
}
