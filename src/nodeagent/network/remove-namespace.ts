import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { sleep } from '../../lib/sleep.ts'
import { killProcess } from '../system/kill-process.ts'
import { runCommand } from '../system/run-command.ts'
import { isOwnNamespace } from './namespace.ts'

const PAUSE_MS = 10
const ATTEMPTS = 500

/**
 * Kills whoever is in a network namespace, waits until they are gone, and
 * removes it. Nobody tells of the end of a process that is not one's own child,
 * so this asks again. Throws NP_NODEAGENT_NAMESPACE for one that is not to go.
 */
export async function removeNamespace(name: string, clock: Clock): Promise<void> {
  if (await isOwnNamespace(name)) throw refused(name, 'it is the one that the node agent is in')
  for (let attempt = 0; ; attempt++) {
    const pids = (await runCommand(['ip', 'netns', 'pids', name])).split('\n').filter(Boolean)
    if (pids.length === 0) break
    if (attempt === ATTEMPTS) throw refused(name, `process ${pids[0]} does not end`)
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
