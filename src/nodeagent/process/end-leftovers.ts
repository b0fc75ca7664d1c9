import { readdir, readFile, readlink } from 'node:fs/promises'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { sleep } from '../../lib/sleep.ts'
import { killProcess } from '../system/kill-process.ts'
import { hasMark } from './pod-mark.ts'

const PAUSE_MS = 10
const PATIENCE_MS = 5_000

/**
 * Kills every process with a mark of this prefix, until there is none: those of
 * Pods that left their process group and namespace, as children do whose container
 * was killed together with its node agent. Other PID namespaces have node agents
 * of their own, and one that runs in such a Pod itself kills nobody.
 * Throws NP_NODEAGENT_LEFTOVER when that takes more than five seconds.
 */
export async function endLeftovers(prefix: string, clock: Clock): Promise<void> {
  const over = new AbortController()
  const ended = endAll(prefix, clock, over.signal).then(() => true)
  const late = sleep(clock, PATIENCE_MS, over.signal).then(() => false)
  const isDone = await Promise.race([ended, late]).finally(() => over.abort())
  if (isDone) return
  throw new NodeProxyError(
    'NP_NODEAGENT_LEFTOVER',
    `processes that Pods of ${JSON.stringify(prefix)} left behind do not end`,
    { object: prefix },
  )
}

async function endAll(prefix: string, clock: Clock, signal: AbortSignal): Promise<void> {
  if (await isMarked('self', prefix)) return
  const own = await pidNamespace('self')
  while (!signal.aborted) {
    const marked: string[] = []
    for (const entry of await readdir('/proc')) {
      if (!/^\d+$/.test(entry) || !(await isMarked(entry, prefix))) continue
      if ((await pidNamespace(entry)) === own) marked.push(entry)
    }
    if (marked.length === 0) return
    for (const pid of marked) killProcess(Number(pid))
    await sleep(clock, PAUSE_MS, signal)
  }
}

/** Of a process that has ended, or that is not ours to read, nothing is known. */
async function isMarked(pid: string, prefix: string): Promise<boolean> {
  return hasMark(await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => ''), prefix)
}

function pidNamespace(pid: string): Promise<string> {
  return readlink(`/proc/${pid}/ns/pid`).catch(() => '')
}
