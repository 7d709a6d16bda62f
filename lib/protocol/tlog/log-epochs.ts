/**
 * Names and paths of the logs of one service. Log 1 has the configured origin and is at /log/; a later log (a new
 * epoch) has an origin and a path of its own, because to witnesses and caches an origin is one history and a tile never
 * changes.
 */

/** `example.com/log`, then `example.com/log/2` and so on. */
export function originOfLog(firstOrigin: string, logId: number): string {
  return logId === 1 ? firstOrigin : `${firstOrigin}/${logId}`;
}

/** Where the log's checkpoint and tiles lie, without a slash at the end. */
export function pathOfLog(logId: number): string {
  return logId === 1 ? "/log" : `/log/${logId}`;
}
