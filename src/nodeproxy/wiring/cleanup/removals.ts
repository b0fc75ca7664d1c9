import type { Removal } from '../../../modes/definition/mode-definition.ts'

/**
 * Runs the removals in order, then repeats the failed ones once, because an object can be in use until another one
 * is removed.
 * @returns the errors of the second attempts
 */
export async function removeAll(removals: readonly Removal[]): Promise<readonly unknown[]> {
  const again: Removal[] = []
  for (const removal of removals) await removal().catch(() => again.push(removal))
  const failures: unknown[] = []
  for (const removal of again) await removal().catch((error: unknown) => failures.push(error))
  return failures
}
