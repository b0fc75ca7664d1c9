import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { sleep } from '../../lib/sleep.ts'
import { killProcess } from '../system/kill-process.ts'
import { runCommand } from '../system/run-command.ts'
import { isOwnNamespace } from './namespace.ts'

const PAUSE_MS = 10
const MAX_ATTEMPTS = 500

/**
 * Kills the processes in a network namespace, waits until they have ended, and
 * removes it. The kernel reports only the end of own children, so it polls.
 * Throws NP_NODEAGENT_NAMESPACE for a namespace that must not be removed or does not empty.
 */
export async function removeNamespace(name: string, clock: Clock): Promise<void> {
  if (await isOwnNamespace(name)) throw refused(name, 'it is the one that the node agent is in')
  for (let attempt = 0; ; attempt++) {
    const pids = (await runCommand(['ip', 'netns', 'pids', name])).split('\n').filter(Boolean)
    if (pids.length === 0) break
    if (attempt === MAX_ATTEMPTS) throw refused(name, `process ${pids[0]} does not end`)
    for (const pid of pids) killProcess(Number(pid))
    await sleep(clock, PAUSE_MS)
  }
  await runCommand(['ip', 'netns', 'del', name])
}

function refused(name: string, why: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_NAMESPACE', `network namespace ${name}: ${why}`, {
    object: name,
  })
}
