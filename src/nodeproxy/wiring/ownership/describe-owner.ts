import { readlinkSync } from 'node:fs'
import type { LockHolder, LockOwner } from '../../../kernel/owner-lock/owner-lock.ts'
import { quote } from '../../../lib/quote.ts'
import { scrubText } from '../../../telemetry/redact.ts'

/** What this process reports to others while it has the lock. */
export function thisProcess(
  args: readonly string[],
  facts: Pick<LockOwner, 'version' | 'task' | 'mode'>,
): LockOwner {
  return {
    pid: process.pid,
    pidNamespace: pidNamespace(),
    since: new Date(Date.now() - process.uptime() * 1_000).toISOString(),
    command: scrubText(['node-proxy', ...args].join(' ')),
    ...facts,
  }
}

/** Such as `node-proxy (task "daemon", pid 4711, since …)`; texts are quoted, because another process sent them. */
export function describeOwner(
  owner: LockOwner | undefined,
  holder: LockHolder | undefined,
  ownNamespace: string = pidNamespace(),
): string {
  const seen = holder !== undefined && holder.pid > 0 ? holder.pid : undefined
  if (owner === undefined) {
    const pid = seen === undefined ? 'a process that is not visible from here' : `pid ${seen}`
    return `${pid}${holder === undefined ? '' : ` of user ${holder.uid}`}`
  }
  const { pid, pidNamespace: namespace, since, version, task, mode, command } = owner
  const isElsewhere = namespace !== ownNamespace
  const parts = [
    `task ${quote(task)}`,
    isElsewhere ? `pid ${pid} in another container (${quote(namespace)})` : `pid ${pid}`,
    ...(isElsewhere && seen !== undefined ? [`pid ${seen} from here`] : []),
    `since ${quote(since)}`,
    `version ${quote(version)}`,
    ...(mode === '' ? [] : [`mode ${quote(mode)}`]),
    `command ${quote(command)}`,
  ]
  return `node-proxy (${parts.join(', ')})`
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
