/** Removes something; rejects with what stays. */
export type Removal = () => Promise<void>

/**
 * Runs them in order, and those that failed once more when all others are done,
 * because one may stand in the way of another. Returns why the rest failed.
 */
export async function removeAll(removals: readonly Removal[]): Promise<readonly unknown[]> {
  const again: Removal[] = []
  for (const removal of removals) await removal().catch(() => again.push(removal))
  const failures: unknown[] = []
  for (const removal of again) await removal().catch((error: unknown) => failures.push(error))
  return failures
}
