import { isJsonObject, type Json, scalarText } from '../../lib/json.ts'

const LEVELS: Readonly<Record<string, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
const LEFT_OUT = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'name', 'version'])
const CONTROL = /\p{Cc}/gu

/** One record of the daemon's log for people, on one line; anything else as it is. */
export function logText(line: string): string {
  const record = parse(line)
  if (record === undefined) return line.replace(CONTROL, ' ').trim()
  const { level, msg } = record
  const rest = Object.entries(record)
    .filter(([key, value]) => !LEFT_OUT.has(key) && scalarText(value) !== '')
    .map(([key, value]) => `${key}=${scalarText(value)}`)
  const word = LEVELS[scalarText(level)] ?? scalarText(level)
  return [word, scalarText(msg), ...rest].join(' ').replace(CONTROL, ' ').trim()
}

function parse(line: string): Record<string, Json> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
