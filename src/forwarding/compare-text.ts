/** Compares by UTF-16 code units: the order is the same on every node, independent of its locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
