import { afterAll, beforeAll, expect, test } from 'vitest'
import { METRIC_TABLE, PREFIX } from '../../src/telemetry/metrics/registry.ts'
import { ofIptables } from '../support/drift/of-iptables.ts'
import { ofNftables } from '../support/drift/of-nftables.ts'
import { type Deployment, deploy, objectsOf, redeploy } from '../support/flows/deploy.ts'
import { isUserspace, proxyMode } from '../support/lab/daemon-config.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { MetricHistory } from '../support/lab/metric-history.ts'
import { sumOf } from '../support/lab/metrics.ts'
import type { ApiObject } from '../support/lab/objects.ts'
import { type RefusingKernel, refusingKernel } from '../support/lab/refusing-kernel.ts'

/**
 * One script of everything that a daemon counts, and what moved meanwhile: a metric that is
 * documented and never moves is a metric that alerts and dashboards wait for in vain.
 */
const CONFIG = {
  iptables: { syncPeriod: '1s' },
  nftables: { syncPeriod: '1s', trafficCounters: true },
  userspace: { affinityClients: 1, gracefulTermination: '2s', connectTimeout: '100ms' },
}

/** What other tests show: credentials, policy/metrics, announcement/fail-over and announcement/bgp. */
const ELSEWHERE =
  /^(client_credential_(expiration|late)_timestamp_seconds$|policy_|announced_|announcement_|bgp_)/

/** What only a mode whose process moves the bytes has. */
const OF_USERSPACE = /^(forwarder_|affinity_|draining_backends)/
/** What it has not: its flows need no deletion, and its new Services no program that could fail. */
const OF_RULES =
  /^(conntrack_reconciler_deleted|sync_proxy_rules_(service|endpoint)_changes_pending)/

/** What a mode does not count of Services. */
const NOT_COUNTED: Readonly<Record<string, RegExp>> = {
  iptables: /^service_(packets|bytes)/,
  nftables: /^service_connections/,
  userspace: /^service_packets/,
}

const CLIENT = {
  source: '10.0.0.2',
  destination: '172.30.23.1',
  port: 80,
  protocol: 'TCP',
} as const

const WEB: Deployment = {
  key: 'ns/web',
  clusterIP: '172.30.23.1',
  endpoints: [{ ip: '10.180.2.1', node: 'far' }],
  ports: [{ name: '', port: 80, nodePort: 30080 }],
  spec: {
    type: 'LoadBalancer',
    sessionAffinity: 'ClientIP',
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'Cluster',
    healthCheckNodePort: 30111,
  },
  ingress: [{ ip: '1.2.3.4' }],
}
const DNS: Deployment = {
  key: 'ns/dns',
  clusterIP: '172.30.23.2',
  endpoints: [{ ip: '10.180.2.2', node: 'far' }],
  ports: [{ name: 'dns', port: 53, protocol: 'UDP' }],
}
/** Addresses of the node, where nothing listens on port 80. */
const DEAD = [{ ip: '10.0.0.1' }, { ip: '192.168.1.2' }]
const ELSEWHERE_ENDPOINT = [{ ip: '10.180.2.3', node: 'far' }]

let lab: Lab
let kernel: RefusingKernel
const history = new MetricHistory(() => lab)
const look = () => history.look()
const until = (name: string, least?: number) => history.until(name, least)

beforeAll(async () => {
  lab = await createLab()
  kernel = refusingKernel(lab)
  const { programs } = kernel
  await lab.daemon.start({ config: CONFIG, ...(programs && { programs }) })
  await lab.daemon.synced()
  await look()
})
afterAll(async () => lab.close())

/** The slice of a deployment as the controller of endpoints writes it at `time`. */
function timed(deployment: Deployment, time: Date): ApiObject {
  const [, endpointSlice] = objectsOf(deployment)
  const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': time.toISOString() }
  return { ...endpointSlice!, metadata: { ...endpointSlice!.metadata, annotations } }
}

/** What a firewall does that loads its rules again. */
async function flush(): Promise<void> {
  const { changes } = proxyMode() === 'nftables' ? ofNftables : ofIptables
  await changes[0]?.harm(lab.node.namespace)
}

const SCRIPT: Readonly<Record<string, () => Promise<unknown>>> = {
  'Services of every kind': async () => {
    await deploy(lab, WEB)
    await deploy(lab, DNS)
    const local = { ...DNS, key: 'ns/local', clusterIP: '172.30.23.3' }
    await deploy(lab, { ...local, spec: { internalTrafficPolicy: 'Local' } })
    await until('health_check_node_ports')
    await until('sync_proxy_rules_no_local_endpoints_total')
  },
  'traffic, and backends that leave': async () => {
    const { agent } = await lab.site('pod', CLIENT.source)
    await lab.connect('pod', { ...CLIENT, attempts: 4 })
    await lab.connect('pod', { ...CLIENT, source: '10.0.0.3' })
    await agent.call('open', CLIENT)
    await until(proxyMode() === 'nftables' ? 'service_packets_total' : 'service_connections_total')
    // The kernel forgets its entry after 30 seconds: its backend leaves before.
    const query = { ...CLIENT, protocol: 'UDP', destination: DNS.clusterIP, port: 53 } as const
    await lab.connect('pod', { ...query, sourcePort: 5353 })
    await redeploy(lab, { ...DNS, endpoints: ELSEWHERE_ENDPOINT })
    await redeploy(lab, { ...WEB, endpoints: ELSEWHERE_ENDPOINT })
    await until('conntrack_reconciler_sync_duration_seconds_count')
    if (isUserspace()) await until('draining_backends')
    if (isUserspace()) await until('forwarder_ended_total')
    await lab.api.apply(timed(DNS, new Date()))
    await until('network_programming_duration_seconds_count')
  },
  'backends that do not answer': async () => {
    const dead = { ...WEB, key: 'ns/dead', clusterIP: '172.30.23.4' }
    const [one, two] = objectsOf({ ...dead, spec: {}, endpoints: DEAD })
    await lab.api.apply(one!, two!)
    await lab.daemon.synced()
    await lab.connect('pod', { ...CLIENT, destination: dead.clusterIP, timeoutMs: 3_000 })
  },
  'an object that cannot be used, and an Event that says so': async () => {
    const [service] = objectsOf({ ...WEB, key: 'ns/wrong', spec: { clusterIPs: ['nonsense'] } })
    await lab.api.plant({ ...service!, spec: { clusterIP: 'nonsense', ports: [{ port: 0 }] } })
    await lab.api.plant({ ...timed({ ...DNS, key: 'ns/odd' }, new Date()), addressType: 'Smoke' })
    await until('rejected_objects')
    await until('events_total')
  },
  'a kernel that refuses': async () => {
    await kernel.begin()
    await lab.api.apply(
      ...objectsOf({ ...WEB, key: 'ns/late', clusterIP: '172.30.23.9', spec: {} }),
    )
    // Before the flush: a run that repairs what is not refused takes the changes for written.
    if (!isUserspace()) await until('sync_proxy_rules_service_changes_pending')
    if (!isUserspace()) await until('sync_proxy_rules_endpoint_changes_pending')
    await flush()
    await until('apply_failures_total')
    await until('oldest_pending_change_age_seconds')
    await kernel.end()
    // Rules that are flushed before they are written again are no further drift.
    const pending = async () => sumOf(await look(), PREFIX + 'oldest_pending_change_age_seconds')
    await expect.poll(pending).toBe(0)
  },
  'rules that another program flushes': async () => {
    const repaired = sumOf(await look(), PREFIX + 'drift_repairs_total')
    await flush()
    await until('drift_repairs_total', repaired)
    await until('sync_proxy_rules_iptables_last')
  },
  'configuration files, right and wrong': async () => {
    const reloads = async (config: object, result: string) => {
      lab.daemon.writeConfig({ ...CONFIG, ...config })
      lab.daemon.signal('SIGHUP')
      const count = async () => sumOf(await look(), 'nodeproxy_config_reloads_total', { result })
      await expect.poll(count).toBeGreaterThan(0)
    }
    await reloads({ clusterCIDR: 'nonsense' }, 'refused')
    await reloads({ clusterCIDR: '10.0.0.0/9' }, 'applied')
  },
  'health checks': async () => {
    await lab.daemon.http(10256, '/healthz')
    await lab.daemon.http(10256, '/livez')
  },
  'an API server that goes and comes': async () => {
    await lab.apiServer.hangUp()
    await expect.poll(async () => sumOf(await look(), 'nodeproxy_watch_connected')).toBe(0)
    await lab.apiServer.answerAgain()
    await until('watch_connected', 2)
    await until('reflector_restarts_total')
  },
}

test.each(Object.entries(SCRIPT))('%s', async (_, step) => {
  await step()
  expect((await look()).size).toBeGreaterThan(0)
})

test('every documented metric moved', () => {
  const others = [
    ELSEWHERE,
    isUserspace() ? OF_RULES : OF_USERSPACE,
    NOT_COUNTED[proxyMode()] ?? /^$/,
  ]
  const expected = Object.values(METRIC_TABLE)
    .map(({ name }) => name)
    .filter((name) => !others.some((other) => other.test(name)))
  expect(history.unmoved(expected)).toEqual([])
})
