/** Types of postgres.mjs for tests in TypeScript. */

export interface Cluster {
  /** The superuser's address. */
  url: string;
  /** The folders of its programs and of its data. */
  binaries: string;
  folder: string;
  pid(): number;
  /** SIGKILL to all of its processes. */
  kill(): Promise<void>;
  /** Starts it again on its port; resolves when it takes connections. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function startCluster(settings: readonly string[]): Promise<Cluster>;
