const DECIMAL = /^(0|[1-9][0-9]*)$/

/**
 * Compares two resourceVersions: negative when `a` is older, 0 when they are equal; undefined when one is
 * not a decimal number, so that they cannot be compared. KEP-5504 defines this
 * comparison for the servers of Kubernetes.
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return undefined
  if (a.length !== b.length) return a.length - b.length
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Whether `current` is older than `known`: the server lost its recent history. */
export function isRewound(known: string, current: string): boolean {
  const order = compareVersions(current, known)
  return order !== undefined && order < 0
}
