"use client";
/** The visitor's own time, which the server doesn't know. */
import { useIsReady } from "./use-is-ready";

/** Beside an instant in UTC; the server keeps its place, invisible. */
export function LocalTime({ iso }: { readonly iso: string }) {
  const isReady = useIsReady();
  const format = new Intl.DateTimeFormat("en-GB", {
    dateStyle: "medium",
    timeStyle: "short",
    ...(isReady ? {} : { timeZone: "UTC" }),
  });
  return (
    <span className={`text-ink ${isReady ? "" : "invisible noscript:hidden"}`}>
      {format.format(new Date(iso))} your time ·{" "}
    </span>
  );
}

/**
 * Time in lists: the visitor's own, for other years the day, with UTC on hover. The server's render reserves the space, and
 * shows UTC where no script runs.
 */
export function ListTime({ iso }: { readonly iso: string }) {
  const isReady = useIsReady();
  const isThisYear = iso.slice(0, 4) === new Date().toISOString().slice(0, 4);
  const format = new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    ...(isThisYear ? { hour: "2-digit", minute: "2-digit" } : { year: "numeric" }),
    ...(isReady ? {} : { timeZone: "UTC" }),
  });
  return (
    <time
      dateTime={iso}
      title={`${iso.slice(0, 19).replace("T", " ")} UTC`}
      className={`whitespace-nowrap tabular-nums ${isReady ? "" : "invisible noscript:visible"}`}
    >
      {format.format(new Date(iso))}
      <noscript> UTC</noscript>
    </time>
  );
}
