import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
/** Fields of /proc/PID/stat after the command's name: utime, stime, cutime, cstime (proc(5)). */
const TIMES = [11, 12, 13, 14] as const

/** The memory of one process in KiB: peak, resident, and the anonymous part of the resident memory. */
export interface Memory {
  readonly peak: number
  readonly resident: number
  readonly anonymous: number
}

/** A process and its descendants that run or have not been waited for. */
export function processTree(root: number): readonly number[] {
  const tree = [root]
  for (const pid of tree) tree.push(...childrenOf(pid))
  return tree
}

/** Seconds of processor time, user and system, of a process and all of its descendants. */
export function cpuSeconds(root: number): number {
  let ticks = 0
  for (const pid of processTree(root)) {
    const stat = read(`/proc/${pid}/stat`)
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    for (const at of TIMES) ticks += Number(fields[at] ?? 0)
  }
  return ticks / TICKS_PER_SECOND
}

/** Undefined for a process that has ended. */
export function memoryOf(pid: number): Memory | undefined {
  const status = read(`/proc/${pid}/status`)
  const field = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
  const memory = {
    peak: field('VmHWM'),
    resident: field('VmRSS'),
    anonymous: field('RssAnon'),
  }
  return Number.isNaN(memory.peak) ? undefined : memory
}

function childrenOf(pid: number): readonly number[] {
  return threadsOf(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Empty for a process that has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
