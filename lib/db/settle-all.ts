/**
 * Statements of a transaction that do not depend on each other: sent one behind the other without waiting, so that all
 * cost one round trip. Rejects with the first failure, and only when the last has ended: nothing is on its way when the
 * transaction is rolled back.
 */
export async function together<Work extends readonly unknown[]>(
  ...work: Work
): Promise<{ -readonly [At in keyof Work]: Awaited<Work[At]> }> {
  const settled = await Promise.allSettled(work);
  const failed = settled.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  return settled.map((one) => (one as PromiseFulfilledResult<unknown>).value) as {
    -readonly [At in keyof Work]: Awaited<Work[At]>;
  };
}
