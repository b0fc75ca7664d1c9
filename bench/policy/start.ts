import { parseArgs } from 'node:util'
import { createLab, type Lab } from '../../test/support/lab/lab.ts'
import {
  CLOSED,
  OPEN,
  type StartedPod,
  StartRace,
} from '../../test/support/policy/start-race/start-race.ts'
import type { ForbiddenPackets, SettingTimes, Times } from '../report/policy/results.ts'
import { quantile } from '../report/statistics.ts'
import { conditions, savePart } from './save.ts'

/**
 * Measures what enforcement costs a Pod that starts: the time from its network until a connection works that policies
 * allow, and for how long connections pass that they do not. Rounds of each setting take turns. Prints a table, and
 * saves it.
 *
 *     scripts/node bench/policy/start.ts [--pods=50] [--rounds=4] [--parallel=4] [--report-after=300] [--into=bench]
 */
const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '4' },
    parallel: { type: 'string', default: '4' },
    'report-after': { type: 'string', default: '300' },
    into: { type: 'string', default: 'bench' },
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
const start = {
  ...conditions(),
  pods: Number(values.pods),
  rounds: Number(values.rounds),
  parallel: Number(values.parallel),
  reportAfter: Number(values['report-after']),
  settings: [...started].map(([setting, pods]) => timesOf(setting, pods)),
}
savePart(values.into, { start })
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

function timesOf(
  { name, networkPolicy, namespace }: Setting,
  pods: readonly StartedPod[],
): SettingTimes {
  const of = (pick: (pod: StartedPod) => number) => quantiles(pods.map(pick))
  const isIsolated = networkPolicy.enforce && namespace === CLOSED
  return {
    name,
    allowed: of(({ worksAt, upAt }) => worksAt[4] - upAt[4]),
    allowedAfterReport: of(({ worksAt, reportedAt }) => worksAt[4] - reportedAt),
    firstConnection: of(({ firstAt, upAt }) => firstAt - upAt[4]),
    ...(isIsolated && { forbidden: forbiddenPackets(pods) }),
  }
}

function forbiddenPackets(pods: readonly StartedPod[]): ForbiddenPackets {
  const open = pods.filter(({ outward, inward }) => outward > 0 || inward > 0)
  const last = quantiles(open.map(({ lastArrivedAt, upAt }) => lastArrivedAt - upAt[4]))
  return { pods: open.length, of: pods.length, ...(open.length > 0 && { last }) }
}

/** Without a time that never came: JSON has no infinity. */
function quantiles(ms: readonly number[]): Times {
  const [p50, p99, most] = [0.5, 0.99, 1].map((q) => quantile(ms, q))
  const times = Object.entries({ p50, p99, most }).filter(([, one]) => Number.isFinite(one))
  return Object.fromEntries(times)
}
