import { readFileSync } from 'node:fs'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from './clock.ts'
import { regularly } from './regularly.ts'

/**
 * In bytes. To collect all garbage of a larger heap takes longer than a tenth of a second, and frees only a small part
 * of it.
 */
const MAX_HEAP_BYTES = 64 << 20
/** Milliseconds between two checks whether the start is over. */
const LOOK_MS = 5_000
/** From bits/mman-linux.h. */
const MADV_DONTNEED = 4

const SIGNATURES = {
  malloc_trim: { arguments: ['u64'], return: 'i32' },
  madvise: { arguments: ['u64', 'u64', 'i32'], return: 'i32' },
} as const

/** The version in `package.json`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version)
}

/**
 * The number of files that this process may open, see getrlimit(2), RLIMIT_NOFILE; `otherwise` if it cannot be read.
 */
export function openFilesLimit(otherwise: number, file = '/proc/self/limits'): number {
  try {
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync(file, 'utf8'))?.[1]
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? otherwise)
  } catch {
    return otherwise
  }
}

/**
 * Resolves with the first of these signals that arrives. From then on none of them is caught, so a second one, of
 * whichever kind, ends the process at once.
 */
export function firstSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const catchFirst = (signal: NodeJS.Signals): void => {
      for (const one of signals) process.off(one, catchFirst)
      resolve(signal)
    }
    for (const one of signals) process.on(one, catchFirst)
  })
}

/** A mapping of a process: /proc/PID/smaps. */
export interface Mapping {
  readonly start: bigint
  readonly end: bigint
  readonly isWritable: boolean
  readonly isFile: boolean
  readonly residentKib: number
  /** The size of the pages whose content is not that of the file. */
  readonly changedKib: number
}

/** Calls `releaseMemory` once, some seconds after the start is over. The returned function cancels that. */
export function releaseMemoryOf(
  start: { readonly isOver: () => boolean },
  clock: Pick<Clock, 'after'>,
): () => void {
  const round = async (): Promise<void> => {
    if (!start.isOver()) return
    cancel()
    releaseMemory()
  }
  const cancel = regularly({ clock, everyMs: LOOK_MS, round, onError: () => undefined })
  return cancel
}

/**
 * Gives back memory that only the start needed: garbage, free memory of the allocator, and what `releaseFilePages` does.
 * Blocks while garbage is collected: for a tenth of a second, longer on a busy machine. Where Node cannot call the C
 * library, only garbage is collected.
 */
export function releaseMemory(): void {
  // Before, too: the collection itself needs memory.
  releaseFilePages()
  if (getHeapStatistics().used_heap_size <= MAX_HEAP_BYTES) collectGarbage()
  callLibc((libc) => libc.malloc_trim(0n))
  releaseFilePages()
}

/**
 * Gives back the pages of program files; the kernel reads such a page again when it is used. Half of the pages of Node's
 * own file are needed only once, so a start calls this between its parts. Blocks for some milliseconds.
 */
export function releaseFilePages(): void {
  callLibc((libc) => {
    const mappings = readMappings(readFileSync('/proc/self/smaps', 'utf8'))
    for (const one of mappings.filter(isUnchangedFile)) {
      libc.madvise(one.start, one.end - one.start, MADV_DONTNEED)
    }
  })
}

function callLibc(use: (libc: ReturnType<typeof openLibc>) => void): void {
  try {
    use(openLibc())
  } catch {
    // Another C library, no node:ffi or no /proc: memory stays as it is.
  }
}

function openLibc() {
  return process.getBuiltinModule('node:ffi').dlopen('libc.so.6', SIGNATURES).functions
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** Whether every page can be read from the file again. */
export function isUnchangedFile({ isFile, isWritable, residentKib, changedKib }: Mapping): boolean {
  return isFile && !isWritable && residentKib > 0 && changedKib === 0
}

/** The mappings in the text of /proc/PID/smaps. */
export function readMappings(smaps: string): readonly Mapping[] {
  const head = /^([\da-f]+)-([\da-f]+) .(.).. [\da-f]+ [\da-f]+:[\da-f]+ (\d+)/gm
  const heads = [...smaps.matchAll(head)]
  return heads.map((found, index) => {
    const [, start, end, write, inode] = found
    const body = smaps.slice(found.index, heads[index + 1]?.index)
    const kib = (field: string): number =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(body)?.[1] ?? 0)
    return {
      start: BigInt(`0x${start}`),
      end: BigInt(`0x${end}`),
      isWritable: write === 'w',
      isFile: inode !== '0',
      residentKib: kib('Rss'),
      changedKib: kib('Anonymous') + kib('Swap'),
    }
  })
}
