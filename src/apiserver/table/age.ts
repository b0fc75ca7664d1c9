import { stringAt } from '../../lib/json.ts'
import { type Column, column } from './column.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const nameColumn: Column = {
  ...column('Name', 'Name of the object, unique in its namespace.', (object) =>
    stringAt(object, 'metadata', 'name'),
  ),
  format: 'name',
}

export const ageColumn: Column = column(
  'Age',
  'Time since the object was created.',
  (object, now) => {
    const created = Date.parse(stringAt(object, 'metadata', 'creationTimestamp'))
    return Number.isNaN(created) ? '<unknown>' : shortDuration((now - created) / 1000)
  },
)

/** Two significant units at most: `45s`, `3m20s`, `5h`, `2d3h`, `400d`. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole < 2 * MINUTE) return `${whole}s`
  if (whole < 10 * MINUTE) return pair(whole, [MINUTE, 'm'], [1, 's'])
  if (whole < 3 * HOUR) return `${Math.floor(whole / MINUTE)}m`
  if (whole < 8 * HOUR) return pair(whole, [HOUR, 'h'], [MINUTE, 'm'])
  if (whole < 2 * DAY) return `${Math.floor(whole / HOUR)}h`
  if (whole < 8 * DAY) return pair(whole, [DAY, 'd'], [HOUR, 'h'])
  return `${Math.floor(whole / DAY)}d`
}

type Unit = readonly [seconds: number, suffix: string]

function pair(whole: number, large: Unit, small: Unit): string {
  const rest = Math.floor((whole % large[0]) / small[0])
  const head = `${Math.floor(whole / large[0])}${large[1]}`
  return rest === 0 ? head : `${head}${rest}${small[1]}`
}
