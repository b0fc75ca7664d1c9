import { afterEach, beforeAll, expect, test } from 'vitest'
import {
  putClusterPolicy,
  putPod,
  putPolicy,
  removeClusterPolicy,
  removePolicy,
  tryConnecting,
} from '../../support/lab/policies.ts'
import { useLab } from '../../support/lab/use-lab.ts'

const lab = useLab({ api: 'real' })

const WEB = { v4: '10.0.0.31', v6: 'fd00:10::31' } as const
const FREE = { v4: '10.0.0.32', v6: 'fd00:10::32' } as const
const CLIENT = { v4: '10.0.0.33', v6: 'fd00:10::33' } as const
const FAMILIES = ['v4', 'v6'] as const
const PORTS = [80, 81].map((port) => ({ protocol: 'TCP' as const, port }))

const podsWith = (app: string) => ({
  pods: { namespaceSelector: {}, podSelector: { matchLabels: { app } } },
})
const SUBJECT = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } } }
/** A policy for ingress of all Pods of `shop`, from the client. */
const ingress = (action: string, more: object = {}, rule: object = {}) => ({
  tier: 'Admin',
  priority: 10,
  subject: SUBJECT,
  ingress: [{ action, from: [podsWith('client')], ...rule }],
  ...more,
})
const OF_WEB = { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] }
const ADMITS = { ...OF_WEB, ingress: [{}] }
const ADMITS_NOTHING = OF_WEB

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

beforeAll(async () => {
  const pods = [
    { key: 'shop/web', ips: Object.values(WEB), labels: { app: 'web' } },
    { key: 'shop/free', ips: Object.values(FREE), labels: { app: 'free' } },
    { key: 'other/client', ips: Object.values(CLIENT), labels: { app: 'client' } },
  ]
  for (const pod of pods) {
    await putPod(lab(), pod)
    for (const ip of pod.ips) await lab().serve({ ip, local: true, ports: PORTS })
  }
})

async function has(name: string, spec: object): Promise<void> {
  await putClusterPolicy(lab(), name, spec)
  cleanups.push(() => removeClusterPolicy(lab(), name))
}

async function isolates(name: string, spec: object): Promise<void> {
  await putPolicy(lab(), `shop/${name}`, spec)
  cleanups.push(() => removePolicy(lab(), `shop/${name}`))
}

interface Expected {
  /** Of the connections to `web`, which the NetworkPolicies of a test isolate. */
  readonly web?: boolean
  /** To `free`, which none does. */
  readonly free?: boolean
  readonly port?: number
}

/** Waits until both families show whether the client reaches the Pods. */
async function expectReached({ web, free, port = 80 }: Expected): Promise<void> {
  for (const family of FAMILIES) {
    for (const [to, isReached] of [
      [WEB[family], web],
      [FREE[family], free],
    ] as const) {
      if (isReached === undefined) continue
      const connection = { from: CLIENT[family], to, port }
      const outcome = [isReached ? 'answered' : 'timeout']
      await expect.poll(() => tryConnecting(lab(), connection)).toEqual(outcome)
    }
  }
}

test('Deny of Admin beats a NetworkPolicy that admits, until it is gone, and is counted', async () => {
  await isolates('open', ADMITS)
  await expectReached({ web: true, free: true })
  await has('fence', ingress('Deny'))
  await expectReached({ web: false, free: false })
  const dropped =
    /^nodeproxy_policy_dropped_packets_total.*(policy="fence".*ingress|ingress.*policy="fence")/
  await lab().daemon.until('counting what the policy denies', (samples) =>
    [...samples].some(([name, value]) => dropped.test(name) && value > 0),
  )
  await cleanups.pop()?.()
  await expectReached({ web: true, free: true })
})

test('Accept of Admin beats a NetworkPolicy that admits nothing, for its ports alone', async () => {
  await isolates('closed', ADMITS_NOTHING)
  await expectReached({ web: false, free: true })
  const protocols = [{ tcp: { destinationPort: { number: 80 } } }]
  await has('opening', ingress('Accept', {}, { protocols }))
  await expectReached({ web: true })
  await expectReached({ web: false, port: 81 })
})

test('Pass leads to the NetworkPolicies, whatever the rest of the tier says', async () => {
  await has('fence', ingress('Deny', { priority: 20 }))
  await expectReached({ web: false, free: false })
  await has('passage', ingress('Pass', { priority: 5 }))
  await expectReached({ web: true, free: true })
  await isolates('closed', ADMITS_NOTHING)
  await expectReached({ web: false, free: true })
})

test('Baseline decides only where no NetworkPolicy isolates the Pod', async () => {
  await has('base', ingress('Deny', { tier: 'Baseline' }))
  await expectReached({ web: false, free: false })
  await isolates('open', ADMITS)
  await expectReached({ web: true, free: false })
  await putPolicy(lab(), 'shop/open', ADMITS_NOTHING)
  await putClusterPolicy(lab(), 'base', ingress('Accept', { tier: 'Baseline' }))
  await expectReached({ web: false, free: true })
})

test('a changed priority is in force at once', async () => {
  await has('fence', ingress('Deny', { priority: 10 }))
  await has('opening', ingress('Accept', { priority: 20 }))
  await expectReached({ web: false, free: false })
  await putClusterPolicy(lab(), 'opening', ingress('Accept', { priority: 1 }))
  await expectReached({ web: true, free: true })
  await putClusterPolicy(lab(), 'fence', ingress('Deny', { priority: 0 }))
  await expectReached({ web: false, free: false })
})

test('an egress that is accepted still has to be admitted by the destination', async () => {
  await isolates('closed', ADMITS_NOTHING)
  const egress = (action: string, to: object) => ({
    tier: 'Admin',
    priority: 1,
    subject: podsWith('client'),
    egress: [{ action, to: [to] }],
  })
  await has('out', egress('Accept', { namespaces: {} }))
  await expectReached({ web: false, free: true })
  const networks = [`${FREE.v4}/32`, `${FREE.v6}/128`]
  await putClusterPolicy(lab(), 'out', egress('Deny', { networks }))
  await expectReached({ free: false })
})
