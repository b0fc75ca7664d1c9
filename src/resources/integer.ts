/** Whether a value is a whole number within bounds, both included. */
export function isIntegerIn(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}
