/** The chains of kube-proxy, in any of its modes, to which rules of nat's built-in chains lead. */
const FOREIGN = / ?-[jg] KUBE-(?:SERVICES|POSTROUTING|PORTALS-HOST|PORTALS-CONTAINER)$/

/**
 * Whether a rule of a built-in chain of nat leads to another Service proxy before the first of our
 * jumps. The first translation of a connection counts, so the other proxy's rules would decide.
 */
export function hasJumpBefore(rules: readonly string[], ours: readonly string[]): boolean {
  const foreign = rules.findIndex((rule) => FOREIGN.test(rule))
  return foreign >= 0 && ours.some((jump) => rules.lastIndexOf(jump) > foreign)
}
