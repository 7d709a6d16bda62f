"use client";
/** Counts down by the server's clock; screen readers hear it at 60 and at 10 seconds only. */
import { useEffect, useRef, useState } from "react";
import { formatCount } from "#lib/protocol/text/display-text";

interface TimeLeftProps {
  readonly expiresAt: string;
  readonly serverTime: string;
  readonly onElapsed?: () => void;
  /** Set on a second clock of the same time. */
  readonly isSilent?: boolean;
}

/** Smallest first: of two marks passed at once the later one counts. */
const spokenAtSeconds = [10, 60];

export function formatTimeLeft(seconds: number): string {
  if (seconds <= 0) return "no time left";
  if (seconds < 60) return formatCount(seconds, "second");
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(seconds / 3_600)} h ${String(Math.floor((seconds % 3_600) / 60)).padStart(2, "0")} min`;
}

export function TimeLeft({ expiresAt, serverTime, onElapsed, isSilent = false }: TimeLeftProps) {
  const expiresMs = Date.parse(expiresAt);
  const secondsAtRender = Math.max(0, Math.ceil((expiresMs - Date.parse(serverTime)) / 1_000));
  const [seconds, setSeconds] = useState(secondsAtRender);
  const [spoken, setSpoken] = useState("");
  const elapsed = useRef(onElapsed);
  useEffect(() => {
    elapsed.current = onElapsed;
  }, [onElapsed]);

  useEffect(() => {
    const startMs = performance.now();
    let before = secondsAtRender;
    const tick = () => {
      const left = Math.max(0, secondsAtRender - Math.floor((performance.now() - startMs) / 1_000));
      setSeconds(left);
      // A tab in the background ticks late: the mark is passed, not met.
      const passed = spokenAtSeconds.find((mark) => before > mark && left <= mark && left > 0);
      if (passed !== undefined) setSpoken(`${passed} seconds left to decide`);
      before = left;
      if (left === 0) {
        clearInterval(timer);
        elapsed.current?.();
      }
    };
    const timer = setInterval(tick, 1_000);
    return () => clearInterval(timer);
  }, [secondsAtRender]);

  return (
    <>
      <span className={`tabular-nums ${seconds <= 60 ? "font-semibold text-warn" : ""}`}>
        {formatTimeLeft(seconds)}
      </span>
      {isSilent ? null : (
        <span aria-live="polite" className="sr-only">
          {spoken}
        </span>
      )}
    </>
  );
}
