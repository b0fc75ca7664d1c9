import type { Clock } from '../../lib/clock.ts'
import type { ProbeResult } from '../state/pod-event.ts'
import { type ProcessPlan, startProcess } from './container-process.ts'

/** Runs a command of a probe or a hook to its end, or to its timeout. */
export async function runOnce(
  plan: ProcessPlan,
  timeoutMs: number,
  clock: Clock,
): Promise<ProbeResult> {
  const child = await startProcess(plan)
  if (typeof child === 'string') return { outcome: 'fail', message: child }
  let isLate = false
  const cancel = clock.after(timeoutMs, () => {
    isLate = true
    child.signal('SIGKILL')
  })
  const { exitCode, signal } = await child.ended
  cancel()
  if (isLate) return { outcome: 'fail', message: `no end within ${timeoutMs / 1000} s` }
  if (exitCode === 0 && signal === 0) return { outcome: 'pass', message: '' }
  const how = signal === 0 ? `exit code ${exitCode}` : `signal ${signal}`
  return { outcome: 'fail', message: `the command ended with ${how}` }
}
