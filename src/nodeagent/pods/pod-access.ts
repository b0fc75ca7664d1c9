import { stat } from 'node:fs/promises'
import {
  type CommandOptions,
  type LogOptions,
  type PodDialer,
  type RunningCommand,
  StreamRefusal,
} from '../../streams/node-streams.ts'
import { openPodDialer } from '../network/pod-dialer.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import {
  LogCursor,
  type LogEntry,
  type LogProgress,
  logFiles,
  logTime,
  previousLog,
} from '../process/container-log.ts'
import { podMark } from '../process/launch.ts'
import { isOwnNamespace } from '../system/namespace.ts'
import type { NodeTools } from './node-tools.ts'
import type { PodProcesses } from './pod-processes.ts'

export interface ReadLogOptions extends Omit<LogOptions, 'previous'> {
  /** Undefined: the run has ended, so there is nothing to follow. */
  readonly progress: LogProgress | undefined
  readonly signal: AbortSignal
}

const NEWLINE = Buffer.from('\n')

/** The access of clients to one Pod: logs, commands, connections. */
export class PodAccess {
  readonly #tools: NodeTools
  readonly #pod: PodPlan
  readonly #processes: PodProcesses

  constructor(tools: NodeTools, pod: PodPlan, processes: PodProcesses) {
    this.#tools = tools
    this.#pod = pod
    this.#processes = processes
  }

  async logs(
    container: string,
    options: LogOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | StreamRefusal> {
    const { name } = this.#pod
    const { path, progress } = this.#processes.logOf(container)
    const file = options.previous ? previousLog(path) : path
    const isThere = await stat(file).then(
      () => true,
      () => false,
    )
    if (isThere) {
      return readLog(file, {
        ...options,
        progress: options.previous ? undefined : progress,
        signal,
      })
    }
    const what = JSON.stringify(container)
    const why = options.previous
      ? `previous terminated container ${what} in pod ${JSON.stringify(name)} not found`
      : `container ${what} in pod ${JSON.stringify(name)} is waiting to start`
    return new StreamRefusal('invalid', why)
  }

  async run(container: string, options: CommandOptions): Promise<RunningCommand | StreamRefusal> {
    const plan = this.#pod.containers.find(({ name }) => name === container)
    if (plan === undefined) return new StreamRefusal('invalid', 'the pod has no such container')
    return this.#processes.attach(plan, options)
  }

  /**
   * Opens connections to the Pod. Refused for a Pod in the node's network, whose loopback address is that of
   * the node.
   */
  async dialer(): Promise<PodDialer | StreamRefusal> {
    const { network, namespacePrefix } = this.#tools
    const { uid, hostNetwork } = this.#pod
    const namespace = hostNetwork ? undefined : network.nameOf(uid)
    if (namespace === undefined || (await isOwnNamespace(namespace).catch(() => true))) {
      return new StreamRefusal('invalid', 'the pod has no network of its own')
    }
    return openPodDialer(namespace, podMark(namespacePrefix, uid))
  }
}

/**
 * The output of one run of a container as it was written, from the files that `openContainerLog` made. A
 * follower that is slower than two full files misses what was in between.
 */
export async function* readLog(path: string, options: ReadLogOptions): AsyncGenerator<Buffer> {
  const cursors: LogCursor[] = []
  try {
    for (const file of logFiles(path)) {
      const cursor = await LogCursor.open(file)
      if (cursor !== undefined) cursors.push(cursor)
    }
    const format = await formatOf(cursors, options)
    for (const cursor of cursors) yield* readAll(cursor, format)
    if (options.follow && options.progress !== undefined) {
      yield* follow(path, cursors, { ...options, progress: options.progress, format })
    }
  } finally {
    for (const cursor of cursors) await cursor.close()
  }
}

type Format = (entries: readonly LogEntry[]) => Buffer

async function* readAll(cursor: LogCursor, format: Format): AsyncGenerator<Buffer> {
  for (;;) {
    const entries = await cursor.read()
    if (entries.length === 0) return
    const bytes = format(entries)
    if (bytes.length > 0) yield bytes
  }
}

interface Following {
  readonly progress: LogProgress
  readonly signal: AbortSignal
  readonly format: Format
}

/** Continues with the newest file, and with those that replace it. */
async function* follow(
  path: string,
  cursors: LogCursor[],
  { progress, signal, format }: Following,
): AsyncGenerator<Buffer> {
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  while (!signal.aborted) {
    const changed = progress.next()
    const { isClosed } = progress
    const cursor = cursors.at(-1)
    if (cursor !== undefined) yield* readAll(cursor, format)
    const isRotated = cursor === undefined || (await cursor.isRotated(path))
    const next = isRotated ? await LogCursor.open(path) : undefined
    if (next !== undefined) {
      if (cursor !== undefined) {
        yield* readAll(cursor, format)
        await cursors.pop()?.close()
      }
      cursors.push(next)
    } else if (isClosed) return
    else await Promise.race([changed, aborted])
  }
}

/** Selects and formats the requested entries; if only the last lines are requested, it counts the lines first. */
async function formatOf(
  cursors: readonly LogCursor[],
  { since, tailLines, timestamps }: ReadLogOptions,
): Promise<Format> {
  const from = since === undefined ? '' : logTime(since)
  const isRecent = ({ time }: LogEntry): boolean => time >= from
  let skipped = 0
  if (tailLines !== undefined) {
    skipped = Math.max(0, (await countLines(cursors, isRecent)) - tailLines)
    for (const cursor of cursors) cursor.rewind()
  }
  let isBegun = false
  return (entries) => {
    const parts: Buffer[] = []
    for (const { time, isWhole, text } of entries.filter(isRecent)) {
      const isFirst = !isBegun
      isBegun = !isWhole
      if (skipped > 0) {
        if (isWhole) skipped--
        continue
      }
      if (timestamps && isFirst) parts.push(Buffer.from(`${time} `))
      parts.push(text)
      if (isWhole) parts.push(NEWLINE)
    }
    return Buffer.concat(parts)
  }
}

async function countLines(
  cursors: readonly LogCursor[],
  isRecent: (entry: LogEntry) => boolean,
): Promise<number> {
  let lines = 0
  let isWholeLast = true
  for (const cursor of cursors) {
    for (let entries = await cursor.read(); entries.length > 0; entries = await cursor.read()) {
      for (const { isWhole } of entries.filter(isRecent)) {
        if (isWhole) lines++
        isWholeLast = isWhole
      }
    }
  }
  return isWholeLast ? lines : lines + 1
}

/** The path of a Pod at the API server. */
export function podPath({
  namespace,
  name,
}: {
  readonly namespace: string
  readonly name: string
}): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`
}
