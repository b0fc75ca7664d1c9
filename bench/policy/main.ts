import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { enterLab } from '../lab/enter-lab.ts'
import { addNamespace, namespaceName, removeNamespace } from '../lab/namespace.ts'
import { Recording } from '../nftables/raw/recording.ts'
import { ReplayPlace } from '../nftables/raw/replay.ts'
import { quantile, spread } from '../report/statistics.ts'
import type { Measured } from './enforcer-process.ts'

/**
 * Measures the enforcement of NetworkPolicies: a full sync from an empty kernel, changes until they are in force, memory;
 * beside them the same netlink messages sent again to an empty kernel, which is the least that the kernel takes. Prints
 * a table.
 *
 *     scripts/node bench/policy/main.ts [--policies=100] [--local=200] [--peers=5000,50000] [--changes=51] [--rounds=3]
 */
const { values } = parseArgs({
  options: {
    policies: { type: 'string', default: '100' },
    local: { type: 'string', default: '200' },
    peers: { type: 'string', default: '5000,50000' },
    changes: { type: 'string', default: '51' },
    rounds: { type: 'string', default: '3' },
  },
})
const PROCESS = new URL('enforcer-process.ts', import.meta.url).pathname

/** One run, and the time that the kernel alone takes for its messages. */
interface Round extends Measured {
  readonly rawMs: number
  readonly rawChangeMs: readonly number[]
  readonly slabBytes: number
}

const folder = enterLab()
const print = (line: string) => process.stdout.write(`${line}\n`)
print(
  `${values.policies} policies, ${values.local} Pods of the node, ${values.rounds} rounds: median (least–most)`,
)
print('')
print('| Pods elsewhere | figure | node-proxy | raw | factor |')
print('| ---: | --- | ---: | ---: | ---: |')
for (const peers of values.peers.split(',')) {
  const rounds: Round[] = []
  for (let n = 0; n < Number(values.rounds); n++) rounds.push(await measure(peers, n))
  show(peers, rounds)
}

async function measure(peers: string, serial: number): Promise<Round> {
  const name = namespaceName(`policy${serial}`)
  const recording = new Recording(folder)
  addNamespace(name)
  try {
    const args = [values.policies, values.local, peers, values.changes]
    const command = [process.execPath, '--expose-gc', PROCESS, ...args]
    const slabBefore = slab()
    const text = execFileSync('ip', ['netns', 'exec', name, ...command], {
      encoding: 'utf8',
      env: { ...process.env, ...recording.environment },
    })
    const slabBytes = slab() - slabBefore
    const sent = recording.take()
    const changes = 3 * Number(values.changes)
    const place = new ReplayPlace(serial)
    try {
      const rawMs = place.send(sent.slice(0, -changes)).ms
      const rawChangeMs = await place.sendEach(sent.slice(-changes).map((one) => [one]))
      return { ...(JSON.parse(text) as Measured), rawMs, rawChangeMs, slabBytes }
    } finally {
      await place.remove()
    }
  } finally {
    removeNamespace(name)
  }
}

/** Bytes of the kernel that cannot be reclaimed. */
function slab(): number {
  const text = readFileSync('/proc/meminfo', 'utf8')
  return Number(/^SUnreclaim:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1_024
}

function show(peers: string, rounds: readonly Round[]): void {
  const row = (figure: string, ours: string, raw = '–', factor = '–') =>
    print(`| ${peers} | ${figure} | ${ours} | ${raw} | ${factor} |`)
  const of = (pick: (round: Round) => number, digits = 1) => spread(rounds.map(pick), digits)
  row(
    'full sync, ms',
    of(({ fullSyncMs }) => fullSyncMs, 0),
    of(({ rawMs }) => rawMs, 0),
    of(({ fullSyncMs, rawMs }) => fullSyncMs / rawMs),
  )
  row(
    'its processor time, ms',
    of(({ cpuMs }) => cpuMs, 0),
  )
  const changes = [
    ['a Pod added elsewhere', ({ podAddedMs }: Round) => podAddedMs],
    ['a label of a Pod changed', ({ podRelabelledMs }: Round) => podRelabelledMs],
    ['a policy changed', ({ policyChangedMs }: Round) => policyChangedMs],
  ] as const
  for (const [index, [what, pick]] of changes.entries()) {
    const count = Number(values.changes)
    const raw = (round: Round) => round.rawChangeMs.slice(index * count, (index + 1) * count)
    for (const q of [0.5, 0.99]) {
      row(
        `${what}, in force, p${q * 100}, ms`,
        of((round) => quantile(pick(round), q), 2),
        of((round) => quantile(raw(round), q), 2),
        of((round) => quantile(pick(round), q) / quantile(raw(round), q)),
      )
    }
  }
  row(
    'resident memory more, MiB',
    of(({ residentBytes }) => residentBytes / 2 ** 20),
  )
  row(
    'heap and buffers more, MiB',
    of(({ heapBytes }) => heapBytes / 2 ** 20),
  )
  row(
    'memory of the kernel more, MiB',
    of(({ slabBytes }) => slabBytes / 2 ** 20),
  )
}
