/**
 * Whether a match applies to a packet: certainly (`true`, `false`), by chance, or unknown, with the reason.
 */
export type Answer = boolean | { readonly probability: number } | { readonly unknown: string }

/** The answer of `!`. */
export function negate(answer: Answer): Answer {
  if (typeof answer === 'boolean') return !answer
  return 'probability' in answer ? { probability: 1 - answer.probability } : answer
}

/** Whether both apply: a certain `false` decides, even if the other is unknown. */
export function both(one: Answer, other: Answer): Answer {
  if (one === false || other === false) return false
  if (one === true) return other
  if (other === true) return one
  if ('unknown' in one) return one
  if ('unknown' in other) return other
  return { probability: one.probability * other.probability }
}
