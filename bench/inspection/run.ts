import { type InspectedNode, onInspectedNode } from '../inspected-node.ts'
import type { Options } from '../options.ts'
import { saveResults } from '../report/files.ts'
import type {
  CommandName,
  CommandTimes,
  ReaderName,
  Reading,
} from '../report/inspection/results.ts'
import { type CommandNode, timeCommand } from './commands.ts'
import { measureRound, type RoundReading } from './round.ts'

const READERS: readonly ReaderName[] = ['none', 'page', 'all']
const COMMANDS: readonly CommandName[] = [
  ...(['nft', 'status', 'entries', 'explain', 'doctor', 'record'] as const),
]

/**
 * Measures what readers of a node cost its daemon, and how long each command takes. They take turns on one daemon, so
 * that other load affects all of them alike.
 */
export async function runInspection(options: Options, folder: string): Promise<void> {
  await onInspectedNode(options, { folder, log }, (node) => measure(options, folder, node))
}

async function measure(options: Options, folder: string, node: InspectedNode): Promise<void> {
  const { repeats, into } = options
  let readings = READERS.map(emptyReading)
  let commands: readonly CommandTimes[] = COMMANDS.map((name) => ({ name, ms: [] }))
  for (let round = 1; round <= repeats.rounds; round++) {
    const measured: Reading[] = []
    for (const reading of readings) {
      log(`round ${round} of ${repeats.rounds}: ${reading.reader}`)
      measured.push(withRound(reading, await measureRound({ ...node, repeats }, reading.reader)))
    }
    readings = measured
    log(`round ${round} of ${repeats.rounds}: commands`)
    commands = commands.map(({ name, ms }) => ({
      name,
      ms: [...ms, timeCommand(commandNode(node, folder), name)],
    }))
    saveResults(into, 'inspection', { ...node.head, readings, commands })
  }
}

function commandNode({ running, socket, head }: InspectedNode, folder: string): CommandNode {
  return { namespace: running.topology.node, socket, services: head.services, folder }
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
