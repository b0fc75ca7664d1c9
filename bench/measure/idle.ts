import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Daemon } from '../daemon/daemon.ts'
import { cpuSeconds } from '../daemon/process-tree.ts'
import type { Idle } from '../report/results.ts'

/** Seconds that a verification of 10,000 Services takes, with a margin. */
const BUSIEST = 5

/**
 * The processor share of the daemon and its children while nothing changes, in per cent of one core. The load of other
 * processes is reported beside the figures, because it distorts them.
 */
export async function idle(
  { daemon }: { readonly daemon: Pick<Daemon, 'pid'> },
  seconds: number,
): Promise<Idle> {
  await delay(3_000)
  const before = cpuSeconds(daemon.pid)
  const machineBefore = machineTicks()
  const readings = [before]
  const startedAt = performance.now()
  for (let n = 0; n < seconds; n++) {
    await delay(1_000)
    readings.push(cpuSeconds(daemon.pid))
  }
  const used = readings.slice(1).map((reading, n) => reading - (readings[n] ?? 0))
  const percent = (parts: readonly number[]) =>
    (parts.reduce((sum, part) => sum + part, 0) / (performance.now() - startedAt)) * 100_000
  const { busy, all } = machineTicks()
  const machinePercent = ((busy - machineBefore.busy) / (all - machineBefore.all)) * 100
  const quiet = used.toSorted((a, b) => a - b).slice(0, Math.max(1, used.length - BUSIEST))
  return { seconds, cpuPercent: percent(used), quietPercent: percent(quiet), machinePercent }
}

/** Ticks of all cores since the start of the machine: user nice system idle iowait … (proc(5)). */
export function machineTicks(): { readonly busy: number; readonly all: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const ticks = line.split(/ +/).slice(1).map(Number)
  const all = ticks.reduce((sum, each) => sum + each, 0)
  return { busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0), all }
}
