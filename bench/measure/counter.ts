/** Counts its calls, from 0. */
export function counter(): () => number {
  let count = 0
  return () => count++
}
