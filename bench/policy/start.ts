import { parseArgs } from 'node:util'
import { createLab, type Lab } from '../../test/support/lab/lab.ts'
import {
  CLOSED,
  OPEN,
  type StartedPod,
  StartRace,
} from '../../test/support/policy/start-race/start-race.ts'
import { quantile } from '../report/statistics.ts'

/**
 * Measures what enforcement costs a Pod that starts: the time from its network until a connection works that policies
 * allow, and for how long connections pass that they do not. Rounds of each setting take turns. Prints a table.
 *
 *     scripts/node bench/policy/start.ts [--pods=50] [--rounds=4] [--parallel=4] [--report-after=300]
 */
const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '4' },
    parallel: { type: 'string', default: '4' },
    'report-after': { type: 'string', default: '300' },
  },
})
/** Until the second try of TCP and the cutting of tracked connections, each a second at most. */
const LINGER_MS = 2_000
const GAUGE = 'nodeproxy_policy_objects'
const ENFORCEMENT = 'nodeproxy_policy_enforcement'

interface Setting {
  readonly name: string
  readonly networkPolicy: { readonly enforce: boolean; readonly unknownPods?: 'allow' | 'deny' }
  /** The namespace of its Pods. */
  readonly namespace: string
}

const DENY = { enforce: true, unknownPods: 'deny' } as const
const SETTINGS: readonly Setting[] = [
  { name: 'no enforcement', networkPolicy: { enforce: false }, namespace: CLOSED },
  {
    name: 'allow, Pods with policies',
    networkPolicy: { enforce: true, unknownPods: 'allow' },
    namespace: CLOSED,
  },
  { name: 'deny, Pods with policies', networkPolicy: DENY, namespace: CLOSED },
  { name: 'deny, Pods without policies', networkPolicy: DENY, namespace: OPEN },
]

const print = (line: string) => process.stdout.write(`${line}\n`)
const started = new Map<Setting, StartedPod[]>(SETTINGS.map((one) => [one, []]))
const lab = await createLab({ api: 'real' })
try {
  const race = new StartRace(lab)
  await race.prepare()
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const setting of SETTINGS) started.get(setting)?.push(...(await measure(race, setting)))
  }
  await race.close()
} finally {
  await lab.close()
}
show()
process.exit(0)

async function measure(race: StartRace, setting: Setting): Promise<readonly StartedPod[]> {
  await begin(lab, setting)
  const start = {
    namespace: setting.namespace,
    reportAfterMs: Number(values['report-after']),
    lingerMs: LINGER_MS,
  }
  const starts = Array.from({ length: Number(values.pods) }, () => start)
  const pods = await race.start(starts, Number(values.parallel))
  await race.clear()
  await lab.daemon.stop()
  await lab.daemon.once(['--cleanup'])
  return pods
}

async function begin({ daemon }: Lab, { networkPolicy }: Setting): Promise<void> {
  await daemon.start({ config: { mode: 'nftables', networkPolicy } })
  await daemon.until('enforcing', (samples) =>
    networkPolicy.enforce
      ? samples.get(`${GAUGE}{kind="policy"}`) === 2 &&
        samples.get(`${GAUGE}{kind="isolated_address"}`) === 2
      : samples.get(ENFORCEMENT) === 0,
  )
}

function show(): void {
  const { pods, rounds, parallel } = values
  print(`${pods} Pods in each of ${rounds} rounds, ${parallel} at a time; the API server gets the`)
  print(
    `address of a Pod ${values['report-after']} ms after its network is up. p50, p99 (most); ms`,
  )
  print('')
  const columns = [
    'setting',
    'network up → allowed connection',
    'address sent to the API server → allowed connection',
    'network up → the first connection, which TCP tries again',
    'network up → last packet that no policy allows',
    'Pods with such packets',
  ]
  print(`| ${columns.join(' | ')} |`)
  print(`| ---${' | ---:'.repeat(columns.length - 1)} |`)
  for (const [{ name, networkPolicy, namespace }, all] of started) {
    const isIsolated = networkPolicy.enforce && namespace === CLOSED
    const of = (pick: (pod: StartedPod) => number) => quantiles(all.map(pick))
    const isOpen = ({ outward, inward }: StartedPod) => outward > 0 || inward > 0
    const open = isIsolated ? all.filter(isOpen) : []
    const cells = [
      name,
      of(({ worksAt, upAt }) => worksAt[4] - upAt[4]),
      of(({ worksAt, reportedAt }) => worksAt[4] - reportedAt),
      of(({ firstAt, upAt }) => firstAt - upAt[4]),
      quantiles(open.map(({ lastArrivedAt, upAt }) => lastArrivedAt - upAt[4])),
      isIsolated ? `${open.length} of ${all.length}` : '–',
    ]
    print(`| ${cells.join(' | ')} |`)
  }
}

function quantiles(ms: readonly number[]): string {
  if (ms.length === 0) return '–'
  const [middle, late] = [0.5, 0.99].map((q) => quantile(ms, q).toFixed(1))
  return `${middle}, ${late} (${Math.max(...ms).toFixed(1)})`
}
