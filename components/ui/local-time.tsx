"use client";
/** The visitor's own time beside an instant in UTC; empty in the server's HTML, which doesn't know it. */
import { useEffect, useState } from "react";

export function LocalTime({ iso }: { readonly iso: string }) {
  const [text, setText] = useState("");
  useEffect(() => {
    const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
    setText(format.format(new Date(iso)));
  }, [iso]);
  return text === "" ? null : <span className="text-ink">{text} your time · </span>;
}
