import { connectionTo } from '../../../client/connection/load-connection.ts'
import { createApiClient } from '../../../client/http/api-client.ts'
import { startScriptedServer } from '../../../client/testing/scripted-server.ts'
import { silentReporter } from '../../../client/testing/silent-reporter.ts'
import { FakeConntrack } from '../../../kernel/conntrack/testing/fake-conntrack.ts'
import { FakeNamespace } from '../../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../../kernel/nftables/testing/fake-object-monitor.ts'
import { FakePacketLog } from '../../../kernel/packet-log/testing/fake-packet-log.ts'
import { FakeTraces } from '../../../kernel/testing/fake-traces.ts'
import type { NodeProxyError } from '../../../lib/error.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { TABLE, tableOf } from '../../../policy/nftables/render.ts'
import { Conditions } from '../../../telemetry/health/conditions.ts'
import { createMetrics } from '../../../telemetry/metrics/metrics.ts'
import { ModelCluster } from '../../../watch/testing/model-cluster.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { configuration, recordingLog } from '../../testing/wiring.ts'
import { NetworkPolicies } from '../network-policies.ts'

/** The address of the node. */
export const NODE_IP = '192.168.0.2' as IpAddress

/** What differs from a node of which everything is listed, and that decides by itself. */
export interface RigOptions {
  readonly enforce?: boolean | 'auto'
  readonly rights?: Kernel['rights']
  readonly silence?: NodeProxyError
  readonly isNodeListed?: boolean
  readonly namespace?: FakeNamespace
}

/** `NetworkPolicies` with an API server of a namespace `shop`, whose Pod `web` a policy isolates, and a kernel in memory. */
export async function startPolicies(options: RigOptions = {}) {
  const { enforce = 'auto', rights = { ok: true }, silence, isNodeListed = true } = options
  const clock = new FakeClock()
  const cluster = new ModelCluster()
  cluster.policies.namespaces.put('shop', {})
  const status = { podIPs: [{ ip: '10.0.0.4' }, { ip: 'fd00::4' }] }
  cluster.policies.pods.put('shop/web', { nodeName: 'n1' }, { status })
  cluster.policies.networkpolicies.put('shop/deny', { podSelector: {} })
  const server = await startScriptedServer((arrival) => cluster.answer(arrival))
  const client = createApiClient({ connection: connectionTo(server.url), clock, userAgent: 't' })
  const { namespace = new FakeNamespace(clock) } = options
  const traces = new FakeTraces()
  const sockets: FakeNftables[] = []
  const packets = new FakePacketLog()
  const conntrack = new FakeConntrack()
  const { log, lines } = recordingLog()
  const metrics = createMetrics()
  const conditions = new Conditions({ log, metrics })
  const holder = { current: configuration({ 'networkPolicy.enforce': enforce }) }
  const policies = new NetworkPolicies({
    configuration: holder,
    kernel: { rights, traces, conntrack },
    families: [4, 6],
    openSockets() {
      const nftables = new FakeNftables(namespace)
      nftables.silence = silence
      sockets.push(nftables)
      const of = { table: TABLE, exceptPort: nftables.port }
      const monitor = new FakeObjectMonitor(namespace, of)
      return { nftables, monitor, openPacketLog: packets.open }
    },
    client,
    clock,
    steadyClock: clock,
    random: { below: () => 0 },
    reporter: silentReporter,
    nodeName: 'n1',
    nodeAddresses: () => [NODE_IP],
    metrics,
    conditions,
    log,
    onProblem: () => undefined,
  })
  policies.start()
  if (isNodeListed) policies.clusterListed()
  const reader = new FakeNftables(namespace)
  const tables = () => Promise.all(([4, 6] as const).map((family) => reader.read(tableOf(family))))
  return {
    cluster,
    namespace,
    traces,
    policies,
    lines,
    clock,
    sockets,
    packets,
    conntrack,
    /** Ends it. */
    async end() {
      await policies.stop()
      await client.close()
      await server.close()
    },
    conditions: () =>
      conditions.current().map((one) => `${one.reason} ${one.blocksReadiness} ${one.message}`),
    hasTables: async () => (await tables()).map((content) => content !== undefined),
    configure(value: boolean | 'auto', more: Readonly<Record<string, unknown>> = {}) {
      holder.current = configuration({ 'networkPolicy.enforce': value, ...more })
      policies.reconfigure()
    },
    /** Whether the rules of both families log. */
    logs: async () =>
      (await tables()).map((content) =>
        [...(content?.chains.values() ?? [])].some(({ rules }) =>
          rules.some(({ expressions }) => expressions.some(({ type }) => type === 'log')),
        ),
      ),
    /** The name of the chain that drops what is sent to the Pod. */
    chainOfPod: async () => {
      const content = await reader.read(tableOf(4))
      return [...(content?.chains.keys() ?? [])].find((name) => name.startsWith('ingress-pods-'))
    },
    async until(condition: () => boolean) {
      const end = clock.now() + 3_600_000
      while (!condition()) {
        if (clock.now() >= end) throw new Error('nothing of the kind within an hour')
        await clock.advance(500)
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    text: async () => {
      await policies.refreshMetrics()
      return metrics.text()
    },
  }
}

export type Rig = Awaited<ReturnType<typeof startPolicies>>

export const ENFORCED = '1 policies isolate 2 addresses of pods'
export const enforced = ({ until, policies }: Rig) => until(() => policies.describe() === ENFORCED)
export const notEnforced = ({ until, policies }: Rig) =>
  until(() => /^not enforced: (?!not decided yet)/.test(policies.describe()))
export const said = ({ lines }: Rig, text: string) =>
  lines.filter((line) => line.includes(text)).length
