"use client";
/** The visitor's own time beside an instant in UTC. The server, which doesn't know it, keeps its place, invisible. */
import { useIsReady } from "./use-is-ready";

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
