/** The Redis of REDIS_URL, and whether it answers: what the operator's check asks. */
import { Redis } from "ioredis";
import { logger } from "#lib/logger";

/** Time limits without which a host that vanished, or a Redis that hangs, is never noticed. */
const patience = { commandTimeout: 1_000, socketTimeout: 1_000 };

export function openRedis(url: string): Redis {
  const redis = new Redis(url, { ...patience, enableOfflineQueue: false, maxRetriesPerRequest: 1 });
  // Keeps ioredis from printing each failed attempt to connect.
  redis.on("error", (error) =>
    logger.warn({ err: error }, "Redis is out of reach; limits are counted in the database"),
  );
  return redis;
}

/** Rejects if it doesn't. */
export async function pingRedis(url: string): Promise<void> {
  const redis = new Redis(url, {
    ...patience,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on("error", () => {});
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
