import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuSeconds } from '../daemon/process-tree.ts'
import type { Idle } from '../report/results.ts'
import type { Context } from './context.ts'

/**
 * Processor share of the daemon and its children while nothing changes, in per cent
 * of one core. What else the machine does meanwhile is not ours: it is told beside
 * the figures of this cell, because it spoils them.
 */
export async function idle({ daemon }: Context, seconds: number): Promise<Idle> {
  await delay(3_000)
  const before = cpuSeconds(daemon.pid)
  const machineBefore = machineTicks()
  const startedAt = performance.now()
  await delay(seconds * 1_000)
  const used = cpuSeconds(daemon.pid) - before
  const cpuPercent = (used / (performance.now() - startedAt)) * 100_000
  const { busy, all } = machineTicks()
  const machinePercent = ((busy - machineBefore.busy) / (all - machineBefore.all)) * 100
  return { seconds, cpuPercent, machinePercent }
}

/** Ticks of all cores since the start of the machine: user nice system idle iowait … (proc(5)). */
function machineTicks(): { readonly busy: number; readonly all: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const ticks = line.split(/ +/).slice(1).map(Number)
  const all = ticks.reduce((sum, each) => sum + each, 0)
  return { busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0), all }
}
