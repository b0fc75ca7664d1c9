import { isJsonObject, type Json, stringAt, valueAt } from '../../lib/json.ts'
import type { LockOwner } from './owner-lock.ts'

const PROGRAM = 'node-proxy'
const MAX_COMMAND = 1_024

/** One line, at most 4,096 bytes. */
export function writeOwner(owner: LockOwner): string {
  return `${JSON.stringify({ program: PROGRAM, ...owner, command: owner.command.slice(0, MAX_COMMAND) })}\n`
}

/** Undefined for a line that no node-proxy wrote. */
export function readOwner(line: string): LockOwner | undefined {
  const answer = parse(line)
  const pid = valueAt(answer, 'pid')
  if (!isJsonObject(answer) || stringAt(answer, 'program') !== PROGRAM) return undefined
  if (typeof pid !== 'number') return undefined
  const text = (name: keyof LockOwner) => stringAt(answer, name)
  return {
    pid,
    pidNamespace: text('pidNamespace'),
    since: text('since'),
    version: text('version'),
    task: text('task'),
    mode: text('mode'),
    command: text('command'),
  }
}

function parse(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json
  } catch {
    return undefined
  }
}
