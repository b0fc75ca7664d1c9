import { type InspectedNode, onInspectedNode } from '../inspected-node.ts'
import type { Options } from '../options.ts'
import { saveInspectionResults } from '../report/files.ts'
import type { ReaderName, Reading } from '../report/inspection/results.ts'
import { measureRound, type RoundReading } from './round.ts'

const READERS: readonly ReaderName[] = ['none', 'page', 'all']

/** What readers of a node cost its daemon: by turns on one daemon, so that what else the machine does affects all alike. */
export async function runInspection(options: Options, folder: string): Promise<void> {
  await onInspectedNode(options, { folder, log }, (node) => measureReaders(options, node))
}

async function measureReaders({ repeats, into }: Options, node: InspectedNode): Promise<void> {
  let readings = READERS.map(emptyReading)
  for (let round = 1; round <= repeats.rounds; round++) {
    const measured: Reading[] = []
    for (const reading of readings) {
      log(`round ${round} of ${repeats.rounds}: ${reading.reader}`)
      measured.push(withRound(reading, await measureRound({ ...node, repeats }, reading.reader)))
    }
    readings = measured
    saveInspectionResults(into, { ...node.head, readings })
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
