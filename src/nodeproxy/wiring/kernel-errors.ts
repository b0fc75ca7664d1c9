import type { ConditionSink, ModeReview } from '../../modes/definition/mode-view.ts'
import type { KernelError, ObjectKey } from '../../modes/mode.ts'

const REASON = 'kernel-refusals'

/**
 * Raises a condition for the objects that the kernel refuses at present, and clears it when there are none.
 * The review of a mode reports the errors that its configuration causes. An error of one Service does
 * not block readiness: otherwise the owner of that Service could stop a rollout.
 */
export function reviewKernelErrors(
  conditions: ConditionSink,
  reviews: readonly ModeReview[],
  failures: ReadonlyMap<ObjectKey, { readonly refusal: KernelError }>,
): void {
  const errors = [...failures].map(([key, { refusal }]) => ({ key, ...refusal }))
  for (const review of reviews) {
    const messages = errors.filter((error) => review.isConfigured(error))
    const unique = [...new Set(messages.map(({ message }) => message))].toSorted()
    review.configuredErrors(conditions, unique)
  }
  const isConfigured = (error: KernelError) => reviews.some((review) => review.isConfigured(error))
  const [first, ...more] = errors.filter((error) => !isConfigured(error))
  if (first === undefined) return conditions.clear(REASON)
  conditions.raise(REASON, {
    blocksReadiness: false,
    message: `the kernel refuses ${first.key}${more.length > 0 ? ' and others' : ''} (${first.code}: ${first.message}); the row of the code in docs/errors.md has the remedy`,
  })
}
