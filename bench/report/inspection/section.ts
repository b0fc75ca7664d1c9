import { count } from '../show.ts'
import { ratios, spread } from '../statistics.ts'
import { table } from '../table.ts'
import type {
  CommandName,
  CommandTimes,
  InspectionResults,
  ReaderName,
  Reading,
} from './results.ts'

const KIB_PER_MIB = 1_024

const NAMES: Readonly<Record<ReaderName, string>> = {
  none: 'no reader',
  page: 'status, one Service, changes',
  all: 'status, all Services, changes',
}

const COMMANDS: Readonly<Record<CommandName, string>> = {
  nft: '`nft list ruleset`',
  status: '`node-proxy status`',
  entries: '`node-proxy entries` of one Service',
  explain: '`node-proxy explain` to one Service',
  doctor: '`node-proxy doctor`, which waits for a second',
  record: '`node-proxy record`',
}

/** Everything about readers of a node, as a part of the page. */
export function inspectionSection(results: InspectionResults): string {
  const { readings, commands } = results
  const none = readings.find(({ reader }) => reader === 'none')
  const latency = latencyTable(readings, none)
  const cost = costTable(readings, none)
  return `${head(results)}
### Inspection: One endpoint replaced while the node is read

${latency}

### Inspection: Processor time and memory of the daemon

${cost}

### Inspection: One command

${commandTable(commands)}
`
}

function latencyTable(readings: readonly Reading[], none: Reading | undefined): string {
  return table(readings, [
    ['read once a second', ({ reader }) => NAMES[reader]],
    ['', () => ''],
    ['p50, ms', ({ p50 }) => spread(p50, 1)],
    ['÷ no reader', ({ p50 }) => compared(p50, none?.p50)],
    ['p99, ms', ({ p99 }) => spread(p99, 1)],
    ['÷ no reader', ({ p99 }) => compared(p99, none?.p99)],
    ['one reading, ms', ({ answerMs }) => spread(answerMs, 0)],
  ])
}

function costTable(readings: readonly Reading[], none: Reading | undefined): string {
  const mib = (kib: readonly number[]) => kib.map((each) => each / KIB_PER_MIB)
  return table(readings, [
    ['read once a second', ({ reader }) => NAMES[reader]],
    ['', () => ''],
    ['CPU while nothing changes, %', ({ idlePercent }) => spread(idlePercent, 1)],
    ['CPU for each change, ms', ({ cpuMsEach }) => spread(cpuMsEach, 1)],
    ['resident, MiB', ({ residentKib }) => spread(mib(residentKib), 0)],
    ['÷ no reader', ({ residentKib }) => compared(residentKib, none?.residentKib)],
  ])
}

function commandTable(commands: readonly CommandTimes[]): string {
  const nft = commands.find(({ name }) => name === 'nft')
  return table(commands, [
    ['command', ({ name }) => COMMANDS[name]],
    ['', () => ''],
    ['from start to end, ms', ({ ms }) => spread(ms, 0)],
    ['÷ nft list ruleset', ({ ms }) => compared(ms, nft?.ms)],
  ])
}

function compared(ours: readonly number[], theirs: readonly number[] | undefined) {
  return theirs === undefined ? undefined : spread(ratios(ours, theirs), 2)
}

function head({ machine, startedAt, quick, busyPercent, services }: InspectionResults): string {
  const { cores, kernel, node } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  return `## Inspection
${warning}
${startedAt}; ${cores} cores, Linux ${kernel}, Node ${node}; nftables mode, ${count(services)} Services. A round measures one daemon
without and with each reader, which is a process of its own on the same cores. Ratios are of the same round.
Before, the machine was ${busyPercent.toFixed(0)} % busy with other things.
`
}
