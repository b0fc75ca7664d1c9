import { constants } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { FakeConntrack } from '../../../kernel/conntrack/testing/fake-conntrack.ts'
import { FakeNamespace } from '../../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../../kernel/nftables/testing/fake-object-monitor.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Family, IpAddress } from '../../../lib/ip.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { ChainName, PolicyContent, PolicySet, SetName } from '../../policy-content.ts'
import { PolicyEnforcer } from '../enforcer.ts'
import { TABLE, tableOf } from '../render.ts'
import { EMPTY, ScriptedSource } from './scripted-source.ts'

const { EOPNOTSUPP } = constants.errno
export const HOUR_MS = 3_600_000
export const POD = '10.1.0.1' as IpAddress
export const NODE = '192.168.0.2' as IpAddress
export const [POLICY, CHAIN] = ['policy' as ChainName, 'pod-chain' as ChainName]

export const SETTINGS = {
  unknownPods: 'allow',
  logDeniedPerSecond: 0,
  establishedConnections: 'cut',
} as const

export const podSet = (...members: readonly string[]): PolicySet => ({
  kind: 'pods',
  members: new Set(members as readonly IpAddress[]),
  comment: '',
})

/** A Pod that a policy isolates; `peers`: whom it admits. */
export function isolated(...peers: readonly string[]): PolicyContent {
  const ports = [{ protocol: 'TCP', ports: [{ first: 80, last: 90 }] }] as const
  const rules = [{ peers: 'peers' as SetName, ports }]
  return {
    ...EMPTY,
    sets: new Map([['peers' as SetName, podSet(...peers)]]),
    policyChains: new Map([[POLICY, { direction: 'ingress', policy: 'shop/x', rules }]]),
    podChains: new Map([
      [CHAIN, { direction: 'ingress', admin: undefined, policies: [POLICY], baseline: undefined }],
    ]),
    pods: { ingress: new Map([[POD, CHAIN]]), egress: new Map([[POD, 'accept']]) },
  }
}

/** An enforcer that has written nothing yet, its model, and the kernel: whose tables have no owner, so others change them. */
export class EnforcerRig {
  readonly clock = new FakeClock()
  readonly namespace = new FakeNamespace(this.clock)
  readonly nftables = new FakeNftables(this.namespace)
  readonly conntrack = new FakeConntrack()
  readonly model = new ScriptedSource(EMPTY, () => false)
  readonly enforcer: PolicyEnforcer<PolicyContent>
  reported: string[] = []
  onApplied = (): void => undefined
  isMonitored = false
  /** Whether changes by others are reported. */
  isReporting = true

  constructor(families: readonly Family[] = [4]) {
    const { clock, namespace, nftables, conntrack, model } = this
    nftables.refuse(EOPNOTSUPP, (one) => one.do === 'addTable' && one.spec?.isPersistent === true)
    const monitor = new FakeObjectMonitor(namespace, { table: TABLE, exceptPort: nftables.port })
    const report = (text: string): void => void this.reported.push(text)
    this.enforcer = new PolicyEnforcer({
      model,
      nftables,
      monitor: {
        start: (onChange) => {
          const stop = monitor.start((change) => {
            if (this.isReporting) onChange(change)
          })
          this.isMonitored = true
          return () => {
            this.isMonitored = false
            stop()
          }
        },
        hold: (options) => monitor.hold(options),
      },
      conntrack,
      clock,
      wallClock: clock,
      families,
      settings: SETTINGS,
      observer: {
        applied: ({ refused }) => {
          report(refused.size === 0 ? 'applied' : 'refused')
          this.onApplied()
        },
        drifted: () => report('drifted'),
        failed: (error) => report(error instanceof NodeProxyError ? 'failed' : String(error)),
        flowsCut: (count) => report(`cut ${count}`),
        flowsFailed: () => report('not cut'),
      },
      isNodeAddress: (ip) => ip === NODE,
    })
  }

  /** Everything is listed, and the content written. */
  async start(content: PolicyContent): Promise<void> {
    this.enforcer.setSynced()
    await this.write(content)
  }

  /** Lets everything happen that is due within so many milliseconds. */
  async settle(ms = 5_000): Promise<void> {
    const { clock } = this
    const end = clock.now() + ms
    for (;;) {
      await setImmediate()
      const [next] = clock.pending()
      if (next === undefined || clock.now() + next > end) break
      await clock.advance(next)
    }
    clock.elapse(end - clock.now())
  }

  async write(content: PolicyContent): Promise<void> {
    this.enforcer.enqueue([content])
    await this.settle()
    this.reported = []
  }

  /** The members of the set of peers, in the kernel. */
  async members(): Promise<readonly string[]> {
    const found: string[] = []
    await this.nftables.elements(tableOf(4), 'peers', ({ key }) =>
      found.push(Buffer.from(key).join('.')),
    )
    return found.toSorted()
  }
}
