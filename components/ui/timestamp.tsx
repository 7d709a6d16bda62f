/** An instant in UTC, to the second; the relative words ("3 hours ago") are added by the browser. */
import { RelativeTime } from "./relative-time";

interface TimestampProps {
  /** ISO 8601 in UTC, as the API gives it. */
  readonly iso: string;
  readonly relative?: boolean;
}

export function Timestamp({ iso, relative = true }: TimestampProps) {
  const text = new Date(iso).toISOString().replace("T", " ").slice(0, 19);
  return (
    <span>
      <time dateTime={iso} title={iso} className="tabular-nums">
        <span className="whitespace-nowrap">{text}</span> UTC
      </time>
      {relative ? <RelativeTime iso={iso} /> : null}
    </span>
  );
}
