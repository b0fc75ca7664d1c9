import { setTimeout as delay } from 'node:timers/promises'
import { stringAt } from '../../lib/json.ts'
import type { Api } from '../session/api.ts'
import { failureError } from '../session/call-failure.ts'

export interface Waiting {
  readonly path: string
  /** Of the object that was deleted; another one of the same name does not count. */
  readonly uid: string
  /** Undefined: without end. */
  readonly timeoutMs: number | undefined
  readonly signal: AbortSignal
}

const FIRST_DELAY_MS = 50
const MAX_DELAY_MS = 1_000

/** Reads an object until it is gone. @returns whether it is, before the time is over */
export async function waitUntilGone(
  api: Api,
  { path, uid, timeoutMs, signal }: Waiting,
): Promise<boolean> {
  const end = timeoutMs === undefined ? undefined : performance.now() + timeoutMs
  let delayMs = FIRST_DELAY_MS
  while (!signal.aborted) {
    const answer = await api.request({ path, signal })
    if (answer.ok && stringAt(answer.value.body, 'metadata', 'uid') !== uid) return true
    if (!answer.ok && answer.failure.code === 404) return true
    if (!answer.ok && answer.failure.code === 403) return true
    if (!answer.ok && answer.failure.code > 0) throw failureError(answer.failure)
    if (end !== undefined && performance.now() >= end) return false
    const rest = end === undefined ? delayMs : Math.max(end - performance.now(), 0)
    await delay(Math.min(delayMs, rest), undefined, { signal }).catch(() => undefined)
    delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
  }
  return false
}
