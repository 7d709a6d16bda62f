/** Whether the Redis of REDIS_URL answers: what the operator's check asks. */
import { Redis } from "ioredis";

/** Rejects if it doesn't. */
export async function pingRedis(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null });
  redis.on("error", () => {});
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
