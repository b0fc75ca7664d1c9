import { isRaw, ownField, type Raw } from '../../../resources/reader.ts'

/** Taints that the cluster puts on nodes in trouble, which may be over soon. */
const PASSING = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const EFFECT = 'NoExecute'
const SECONDS = 300

/**
 * The spec of a Pod that tolerates for five minutes that its node is not ready or not reachable. A toleration of its own for
 * such a taint, of any duration, counts (DefaultTolerationSeconds in Kubernetes).
 */
export function withDefaultTolerations(spec: Raw): Raw {
  const given = ownField(spec, 'tolerations') ?? []
  if (!Array.isArray(given)) return spec
  const missing = PASSING.filter((key) => !given.some((one) => isRaw(one) && concerns(one, key)))
  if (missing.length === 0) return spec
  const added = missing.map((key) => ({
    key,
    operator: 'Exists',
    effect: EFFECT,
    tolerationSeconds: SECONDS,
  }))
  return { ...spec, tolerations: [...given, ...added] }
}

/** Whether a toleration is for this taint, or for all keys or effects; its value is not compared, as in Kubernetes. */
function concerns(toleration: Raw, key: string): boolean {
  const [itsKey, effect] = ['key', 'effect'].map((field) => ownField(toleration, field) ?? '')
  return (itsKey === key || itsKey === '') && (effect === EFFECT || effect === '')
}
