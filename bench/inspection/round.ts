import { memoryOf } from '../daemon/process-tree.ts'
import { idle } from '../measure/idle.ts'
import { replaceEndpoints } from '../measure/replace-endpoint.ts'
import type { Running } from '../nftables/running.ts'
import type { Repeats } from '../repeats.ts'
import type { ReaderName, Reading } from '../report/inspection/results.ts'
import { median, quantile } from '../report/statistics.ts'
import { startReaderProcess } from './reader-process.ts'

export interface RoundParts {
  readonly running: Running
  readonly socket: string
  readonly repeats: Repeats
  readonly freshAddress: () => number
}

/** The figures of one round. */
export type RoundReading = {
  readonly [Key in Exclude<keyof Reading, 'reader'>]: number | undefined
}

/** Measures with this reader, first while endpoints are replaced, and then while nothing changes. */
export async function measureRound(parts: RoundParts, reader: ReaderName): Promise<RoundReading> {
  if (reader === 'none') return await measureChanges(parts)
  const process = startReaderProcess()
  try {
    await process.request({ what: 'start', socket: parts.socket, reads: reader })
    const reading = await measureChanges(parts)
    const { ms } = await process.request({ what: 'stop' })
    return { ...reading, answerMs: median(ms) }
  } finally {
    process.stop()
  }
}

async function measureChanges(parts: RoundParts): Promise<RoundReading> {
  const { running, freshAddress, repeats } = parts
  const changes = await replaceEndpoints({ ...running, freshAddress }, repeats.replace)
  const { cpuPercent } = await idle(running, repeats.idleSeconds)
  return {
    p50: quantile(changes.ms, 0.5),
    p99: quantile(changes.ms, 0.99),
    idlePercent: cpuPercent,
    cpuMsEach: changes.cpuSecondsEach * 1_000,
    residentKib: memoryOf(running.daemon.pid)?.resident,
    answerMs: undefined,
  }
}
