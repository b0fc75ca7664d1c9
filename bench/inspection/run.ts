import { join } from 'node:path'
import { replacementAddress } from '../lab/plan.ts'
import { busyPercent } from '../measure/busy-percent.ts'
import { counter } from '../measure/counter.ts'
import { machineFacts } from '../measure/machine.ts'
import { emptyNode, startRunning } from '../nftables/running.ts'
import type { Options } from '../options.ts'
import { saveInspectionResults } from '../report/files.ts'
import type { ReaderName, Reading } from '../report/inspection/results.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { measureRound, type RoundReading } from './round.ts'

const READERS: readonly ReaderName[] = ['none', 'page', 'all']

/** What readers of a node cost its daemon: by turns on one daemon, so that what else the machine does affects all alike. */
export async function runInspection(options: Options, folder: string): Promise<void> {
  const { repeats, quick, into } = options
  const services = quick ? 1_000 : 10_000
  const startedAt = new Date().toISOString().slice(0, 10)
  const head = { startedAt, machine: machineFacts(), quick, busyPercent: await busyPercent() }
  const cluster = await seededCluster(services)
  const socket = join(folder, 'inspect.sock')
  const [freshSerial, address] = [counter(), counter()]
  const freshAddress = () => replacementAddress(address())
  const parts = { cluster, folder, repeats, log, freshSerial, freshAddress, save: () => undefined }
  const settings = { inspection: { socket } }
  const running = await startRunning(parts, emptyNode(parts), { settings })
  try {
    let readings = READERS.map(emptyReading)
    for (let round = 1; round <= repeats.rounds; round++) {
      const measured: Reading[] = []
      for (const reading of readings) {
        log(`round ${round} of ${repeats.rounds}: ${reading.reader}`)
        const figures = await measureRound(
          { running, socket, repeats, freshAddress },
          reading.reader,
        )
        measured.push(withRound(reading, figures))
      }
      readings = measured
      saveInspectionResults(into, { ...head, services, readings })
    }
  } finally {
    await running.stop()
    await cluster.stop()
  }
}

function emptyReading(reader: ReaderName): Reading {
  const figures = { p50: [], p99: [], idlePercent: [], cpuMsEach: [], residentKib: [] }
  return { reader, ...figures, answerMs: [] }
}

function withRound({ reader, ...before }: Reading, figures: RoundReading): Reading {
  const added = Object.entries(before).map(([name, samples]) => {
    const figure = figures[name as keyof RoundReading]
    return [name, figure === undefined ? samples : [...samples, figure]] as const
  })
  return { reader, ...before, ...Object.fromEntries(added) }
}

function log(what: string): void {
  process.stderr.write(`bench: inspection: ${what}\n`)
}
