const DECIMAL = /^(0|[1-9][0-9]*)$/

/**
 * Orders two resourceVersions: negative when `a` is older. They are opaque in
 * the API's contract, but every server in use counts; where one does not, the
 * answer is undefined and nothing may be concluded (KEP-5504).
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return undefined
  if (a.length !== b.length) return a.length - b.length
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Whether `current` is from before `known`: the server lost its recent history. */
export function isRewound(known: string, current: string): boolean {
  const order = compareVersions(current, known)
  return order !== undefined && order < 0
}
