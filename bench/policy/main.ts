import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { enterLab } from '../lab/enter-lab.ts'
import { addNamespace, namespaceName, removeNamespace } from '../lab/namespace.ts'
import { Recording } from '../nftables/raw/recording.ts'
import { ReplayPlace } from '../nftables/raw/replay.ts'
import type { Spread, SyncFigure } from '../report/policy/results.ts'
import { median, quantile } from '../report/statistics.ts'
import type { Measured } from './enforcer-process.ts'
import { conditions, savePart } from './save.ts'

/**
 * Measures the enforcement of NetworkPolicies: a full sync from an empty kernel, changes until they are in force, memory;
 * beside them the same netlink messages sent again to an empty kernel, which is the least that the kernel takes. Prints a
 * table, and saves it.
 *
 *     scripts/node bench/policy/main.ts [--policies=100] [--local=200] [--peers=5000,50000] [--changes=51] [--rounds=3] [--into=bench]
 */
const { values } = parseArgs({
  options: {
    policies: { type: 'string', default: '100' },
    local: { type: 'string', default: '200' },
    peers: { type: 'string', default: '5000,50000' },
    changes: { type: 'string', default: '51' },
    rounds: { type: 'string', default: '3' },
    into: { type: 'string', default: 'bench' },
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
const figures: SyncFigure[] = []
for (const peers of values.peers.split(',')) {
  const rounds: Round[] = []
  for (let n = 0; n < Number(values.rounds); n++) rounds.push(await measure(peers, n))
  figures.push(...figuresOf(Number(peers), rounds))
}
const sync = {
  ...conditions(),
  policies: Number(values.policies),
  local: Number(values.local),
  rounds: Number(values.rounds),
  figures,
}
savePart(values.into, { sync })

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
    const measured = JSON.parse(text) as Measured
    const changes = lastGroups(sent, measured.changeTransactions)
    const place = new ReplayPlace(serial)
    try {
      const rawMs = place.send(sent.slice(0, sent.length - changes.flat().length)).ms
      const rawChangeMs = await place.sendEach(changes)
      return { ...measured, rawMs, rawChangeMs, slabBytes }
    } finally {
      await place.remove()
    }
  } finally {
    removeNamespace(name)
  }
}

/** The last of all items, in groups of these sizes. */
function lastGroups<T>(all: readonly T[], sizes: readonly number[]): readonly (readonly T[])[] {
  let at = all.length - sizes.reduce((sum, size) => sum + size, 0)
  return sizes.map((size) => all.slice(at, (at += size)))
}

/** Bytes of the kernel that cannot be reclaimed. */
function slab(): number {
  const text = readFileSync('/proc/meminfo', 'utf8')
  return Number(/^SUnreclaim:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1_024
}

function figuresOf(peers: number, rounds: readonly Round[]): readonly SyncFigure[] {
  type Pick = (round: Round) => number
  const figure = (name: string, ours: Pick, raw?: Pick): SyncFigure => ({
    peers,
    name,
    ours: spreadOf(rounds.map(ours)),
    ...(raw !== undefined && {
      raw: spreadOf(rounds.map(raw)),
      factor: spreadOf(rounds.map((round) => ours(round) / raw(round))),
    }),
  })
  const changes = [
    ['a Pod added elsewhere', ({ podAddedMs }: Round) => podAddedMs],
    ['a label of a Pod changed', ({ podRelabelledMs }: Round) => podRelabelledMs],
    ['a policy changed', ({ policyChangedMs }: Round) => policyChangedMs],
  ] as const
  const count = Number(values.changes)
  return [
    figure(
      'full sync, ms',
      ({ fullSyncMs }) => fullSyncMs,
      ({ rawMs }) => rawMs,
    ),
    figure('its processor time, ms', ({ cpuMs }) => cpuMs),
    ...changes.flatMap(([what, pick], index) =>
      [0.5, 0.99].map((q) =>
        figure(
          `${what}, in force, p${q * 100}, ms`,
          (round) => quantile(pick(round), q),
          ({ rawChangeMs }) => quantile(rawChangeMs.slice(index * count, (index + 1) * count), q),
        ),
      ),
    ),
    figure('resident memory more, MiB', ({ residentBytes }) => residentBytes / 2 ** 20),
    figure('heap and buffers more, MiB', ({ heapBytes }) => heapBytes / 2 ** 20),
    figure('memory of the kernel more, MiB', ({ slabBytes }) => slabBytes / 2 ** 20),
  ]
}

function spreadOf(all: readonly number[]): Spread {
  return { median: median(all), least: Math.min(...all), most: Math.max(...all) }
}
