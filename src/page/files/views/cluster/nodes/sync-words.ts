import type { StatusMessage } from '../../../data/messages.ts'
import { formatAge, NOTHING } from '../../../text/format.ts'

/** Whether every change is in the kernel, or how long the oldest one has waited. */
export function syncWords(status: StatusMessage | undefined): string {
  if (status === undefined) return NOTHING
  const waitingMs = Number(status.waitingMs ?? 0)
  return waitingMs === 0 ? 'in sync' : `waits ${formatAge(waitingMs)}`
}
