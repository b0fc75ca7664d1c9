import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { TABLE } from '../../src/policy/nftables/render.ts'
import { startDaemon } from '../daemon/daemon.ts'
import { enterLab } from '../lab/enter-lab.ts'
import { BACKENDS, TARGET_PORT, toNumber } from '../lab/plan.ts'
import { buildTopology, type Topology } from '../lab/topology.ts'
import { PingPong } from '../nftables/counting/ping-pong.ts'
import { connectTimes } from '../probe/connect.ts'
import type { PacketCase, PacketFigure, Quartiles } from '../report/policy/results.ts'
import { median, quantile, ratios } from '../report/statistics.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { conditions, savePart } from './save.ts'

/**
 * Measures what policies cost packets between two Pods of a node, by their addresses, beside the rules of nftables mode:
 * without the tables of policies, with tables but no policy on the two, and with policies of which the last one admits
 * the packet. The cases take turns. Prints a table, and saves it.
 *
 *     scripts/node bench/policy/packets.ts [--policies=0,1,100] [--rounds=30] [--services=200] [--into=bench]
 */
const { values } = parseArgs({
  options: {
    policies: { type: 'string', default: '0,1,100' },
    rounds: { type: 'string', default: '30' },
    services: { type: 'string', default: '200' },
    into: { type: 'string', default: 'bench' },
  },
})
const PROCESS = new URL('pair-process.ts', import.meta.url).pathname
const QUIET = '--disable-warning=ExperimentalWarning'
const BOUND_MS = 180_000
const SERVER = { ip: toNumber(BACKENDS.host), port: TARGET_PORT } as const
const CONNECTIONS = 1_000
/** Before those that count, so that each case has warm caches. */
const WARM_UP = 200
/** Samples of a round, each of so many round trips, or so many milliseconds of a stream; their median counts. */
const SAMPLES = 15
const ROUND_TRIPS = 200
const STREAM_MS = 20
/** Until the kernel has freed what was deleted, which it does after the transaction, without a notice. */
const REST_MS = 500
const MAX_FAILURES = 30

/** One case in one round. */
interface Sample {
  /** Microseconds: the median of new connections, and a byte there and back on one that is established. */
  readonly connectUs: number
  readonly roundTripUs: number
  /** Of one stream, Gbit/s. */
  readonly gbits: number
}

const folder = enterLab()
const topology = buildTopology(0)
await writeServiceRules(topology)
/** The first one is the baseline. */
const cases = [undefined, ...values.policies.split(',')]
const samples = new Map<string | undefined, Sample[]>(cases.map((one) => [one, []]))
let failures = 0
for (let round = 0; round < Number(values.rounds); round++) {
  for (let n = 0; n < cases.length; n++) {
    const place = round % 2 === 0 ? n : cases.length - 1 - n
    const policies = cases[(Math.floor(round / 2) + place) % cases.length]
    writePolicies(topology, policies)
    await delay(REST_MS)
    if (round === 0) check(topology, policies)
    samples.get(policies)?.push(measure(topology))
  }
}
topology.remove()
const packets = {
  ...conditions(),
  rounds: Number(values.rounds),
  services: Number(values.services),
  repeated: failures,
  cases: cases.map(caseOf),
}
savePart(values.into, { packets })
process.exit(0)

/** Writes what a daemon of nftables mode has in the kernel, and leaves it there. */
async function writeServiceRules({ node }: Topology): Promise<void> {
  const cluster = await seededCluster(Number(values.services))
  const settings = { networkPolicy: { enforce: false } }
  const { url } = cluster
  const daemon = startDaemon({ namespace: node, url, proxy: 'nftables', folder, settings })
  const isReady = await daemon.untilReady(BOUND_MS)
  await daemon.stop()
  await cluster.stop()
  if (!isReady) throw new Error('not ready in time')
}

function writePolicies({ node }: Topology, policies: string | undefined): void {
  const command = [process.execPath, QUIET, PROCESS, ...(policies === undefined ? [] : [policies])]
  execFileSync('ip', ['netns', 'exec', node, ...command], { stdio: 'inherit' })
}

/** Throws unless both Pods have a chain that leads to so many policies; undefined: there is no table. */
function check({ node }: Topology, policies: string | undefined): void {
  const nft = ['ip', 'netns', 'exec', node, 'nft', '-s', 'list', 'ruleset', 'ip'] as const
  const text = execFileSync(nft[0], nft.slice(1), { encoding: 'utf8', maxBuffer: 1 << 28 })
  const table = text.split(/^table /m).find((one) => one.startsWith(`ip ${TABLE} `))
  const found = table && `${(table.match(/\sjump (?:in|e)gress-/g) ?? []).length / 2}`
  if (found !== policies) throw new Error(`${found} policies in the kernel, wanted: ${policies}`)
}

/** Repeated if a packet was lost, as may happen on a busy machine. */
function measure(given: Topology): Sample {
  for (;;) {
    try {
      return sample(given)
    } catch (error) {
      if (++failures > MAX_FAILURES) throw error
    }
  }
}

function sample(given: Topology): Sample {
  connectTimes(given, SERVER, WARM_UP)
  const connection = new PingPong(given, SERVER)
  try {
    connection.round(WARM_UP)
    const each = (measured: () => number) => median(Array.from({ length: SAMPLES }, measured))
    return {
      connectUs: median(connectTimes(given, SERVER, CONNECTIONS)),
      roundTripUs: each(() => connection.round(ROUND_TRIPS)),
      gbits: each(() => (connection.stream(STREAM_MS) * 8) / 1e9),
    }
  } finally {
    connection.close()
  }
}

function caseOf(policies: string | undefined): PacketCase {
  const [baseline = [], ours = []] = [undefined, policies].map((one) => samples.get(one))
  const figure = (pick: (one: Sample) => number): PacketFigure => ({
    value: quartilesOf(ours.map(pick)),
    ratio: quartilesOf(ratios(ours.map(pick), baseline.map(pick))),
  })
  return {
    ...(policies !== undefined && { policies: Number(policies) }),
    connect: figure(({ connectUs }) => connectUs),
    roundTrip: figure(({ roundTripUs }) => roundTripUs),
    stream: figure(({ gbits }) => gbits),
  }
}

function quartilesOf(all: readonly number[]): Quartiles {
  return { median: median(all), first: quantile(all, 0.25), third: quantile(all, 0.75) }
}
