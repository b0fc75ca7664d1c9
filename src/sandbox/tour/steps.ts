import { PUBLIC } from '../cluster/cluster.ts'
import { flushCommand } from '../environment/by-hand.ts'
import { sumOf } from '../environment/daemon.ts'
import { REQUESTS, type Request } from '../environment/request.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import { CLIENT_IP, GATEWAY, NODE_IP, PODS } from '../network/topology.ts'
import type { Expectation, Seen } from './expectation.ts'

/** With this number of requests, one of three pods gets none by chance in one of 2 million tours. */
const MANY = 40
const FEW = 10
/** The counter of repairs, and the time of the last write to the kernel: both rise with a repair. */
const FOUND = 'nodeproxy_drift_repairs_total'
const OBJECTS = 'nodeproxy_policy_objects'
const WRITTEN = 'nodeproxy_sync_proxy_rules_last_timestamp_seconds'

/** The whole tour, in order. */
export const TOUR: readonly Step[] = [
  {
    title: 'A pod requests a Service by its name; a pod that reaches itself sees the node',
    request: REQUESTS.podToWeb,
    times: MANY,
    expected: answered(PODS, (pod, addressOf) => [pod === 'pod-1' ? GATEWAY : addressOf('pod-1')]),
    inUserspace: {
      title: 'A pod requests a Service by its name: the pods see the node',
      expected: answered(PODS, () => [GATEWAY, NODE_IP]),
    },
  },
  {
    title: 'Another pod requests it by its full name',
    request: REQUESTS.podToFullName,
    times: MANY,
    expected: answered(PODS, (pod, addressOf) => [pod === 'pod-2' ? GATEWAY : addressOf('pod-2')]),
    inUserspace: { expected: answered(PODS, () => [GATEWAY, NODE_IP]) },
  },
  {
    title: 'A pod reads Services from the API server, by its name, with the token of its account',
    request: REQUESTS.podReadsServices,
    times: 1,
    expected: { kind: 'api', status: 200, text: 'ServiceList' },
  },
  {
    title: 'The same account may not read Secrets',
    request: REQUESTS.podReadsSecrets,
    times: 1,
    expected: { kind: 'api', status: 403, text: 'system:serviceaccount:default:default' },
  },
  {
    title: 'A NetworkPolicy lets pod-1 reach the API server and DNS alone: it still reads Services',
    modes: ['nftables', 'iptables', 'ipvs'],
    needsNftables: true,
    action: {
      description: 'label pod-1 as access=api-and-dns, and take it out of web-public',
      run: isolate({ access: 'api-and-dns', [PUBLIC]: null }),
    },
    request: REQUESTS.podReadsServices,
    times: 1,
    expected: { kind: 'api', status: 200, text: 'ServiceList' },
  },
  {
    title: 'The same pod finds the name of another Service, and its packets do not arrive',
    modes: ['nftables', 'iptables', 'ipvs'],
    needsNftables: true,
    request: REQUESTS.podToPublic,
    times: 1,
    expected: { kind: 'silent' },
  },
  {
    title: 'Without the label it reaches that Service again',
    modes: ['nftables', 'iptables', 'ipvs'],
    needsNftables: true,
    action: {
      description: 'remove the label from pod-1, and put it behind web-public again',
      run: isolate({ access: null, [PUBLIC]: 'yes' }),
    },
    request: REQUESTS.podToPublic,
    times: MANY,
    expected: answered(PODS, (pod, addressOf) => [pod === 'pod-1' ? GATEWAY : addressOf('pod-1')]),
  },
  {
    title:
      'The node requests the same Service by its ClusterIP: masqueraded, because the node is not a pod',
    request: REQUESTS.nodeToWeb,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'A client outside the cluster requests the node port: the pods see the node',
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'The same with externalTrafficPolicy Local: the pods see the client',
    request: REQUESTS.clientToLocal,
    times: MANY,
    expected: answered(PODS, () => [CLIENT_IP]),
    inUserspace: {
      title: 'The same with externalTrafficPolicy Local: in this mode the pods see the node',
      expected: answered(PODS, () => [GATEWAY, NODE_IP]),
    },
  },
  {
    title: 'Policy Local with all pods on another node: silence, so that other nodes answer',
    request: REQUESTS.clientToElsewhere,
    times: 1,
    expected: { kind: 'silent' },
  },
  {
    title: 'A load balancer address, from within loadBalancerSourceRanges',
    request: REQUESTS.clientToBalanced,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'The same address from outside the source ranges: silence',
    request: REQUESTS.otherClientToBalanced,
    times: 1,
    expected: { kind: 'silent' },
  },
  {
    title: 'Session affinity: a client keeps its pod',
    request: REQUESTS.clientToCart,
    times: MANY,
    expected: { ...answered(PODS, () => [GATEWAY, NODE_IP]), spread: 'one' },
  },
  {
    title: 'Session affinity: so does another client, whichever pod it got',
    request: REQUESTS.otherClientToCart,
    times: MANY,
    expected: { ...answered(PODS, () => [GATEWAY, NODE_IP]), spread: 'one' },
  },
  {
    title: 'A Service without endpoints has a name, too, and refuses a pod at once',
    request: REQUESTS.podToEmpty,
    times: FEW,
    expected: { kind: 'refused' },
  },
  {
    title: 'A Service without endpoints refuses a client at once',
    request: REQUESTS.clientToEmpty,
    times: FEW,
    expected: { kind: 'refused' },
  },
  {
    title: 'Scaled down: one pod answers every request',
    action: { description: 'scale web-public to 1', run: scale(1) },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(['pod-1'], () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'Scaled up: all pods answer again',
    action: { description: 'scale web-public to 3', run: scale(3) },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'A pod is killed: traffic moves to the others',
    action: {
      description: 'kill -9 the process of pod-2',
      run: async (sandbox) => {
        await sandbox.cluster.pods.signal('pod-2', 'SIGKILL')
        await sandbox.settled()
      },
    },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(['pod-1', 'pod-3'], () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'Affinity binds no client to a dead pod',
    request: REQUESTS.clientToCart,
    times: MANY,
    expected: { ...answered(['pod-1', 'pod-3'], () => [GATEWAY, NODE_IP]), spread: 'one' },
  },
  {
    title: 'The pod is back and receives traffic again',
    action: { description: 'replace pod-2', run: replace('pod-2') },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'A pod gets SIGTERM and drains: no request fails meanwhile',
    action: {
      description: 'SIGTERM to the process of pod-3; meanwhile:',
      meanwhile: true,
      run: (sandbox) => sandbox.cluster.pods.signal('pod-3', 'SIGTERM'),
    },
    request: REQUESTS.clientToPublic,
    times: MANY,
    // On a busy machine, the first request may come after the pod was reported as not ready.
    expected: { ...answered(PODS, () => [GATEWAY, NODE_IP]), spread: 'any' },
  },
  {
    title: 'A new pod replaces it',
    action: { description: 'replace pod-3', run: replace('pod-3') },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'A Deployment makes its pods, and its Service finds them',
    action: {
      description: 'create Deployment catalog, version-1',
      run: async (sandbox) => {
        await sandbox.cluster.catalog.next()
        await sandbox.settled()
      },
    },
    request: REQUESTS.clientToCatalog,
    times: MANY,
    expected: answered(['version-1'], () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'It rolls out another version: no request fails meanwhile',
    action: {
      description: 'change its template to version-2; meanwhile:',
      meanwhile: true,
      run: async ({ cluster }) => void (await cluster.catalog.next()),
    },
    request: REQUESTS.clientToCatalog,
    times: MANY,
    expected: answered(['version-1', 'version-2'], () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'Afterwards the new version alone answers',
    request: REQUESTS.clientToCatalog,
    times: MANY,
    expected: answered(['version-2'], () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'An operator flushes the NAT rules: node-proxy restores them',
    modes: ['iptables'],
    action: { description: 'iptables -t nat -F, on the node', run: flush },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'An operator clears the virtual servers: node-proxy restores them',
    modes: ['ipvs'],
    action: { description: 'ipvsadm -C, on the node', run: flush },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'node-proxy stops: its rules stay and work',
    action: { description: 'SIGTERM to node-proxy', run: ({ daemon }) => daemon.stop('SIGTERM') },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
    inUserspace: {
      title: 'node-proxy stops: rules of iptables mode stay and work until it is back',
    },
  },
  {
    title: 'node-proxy --cleanup: no request is answered any more',
    action: { description: 'node-proxy --cleanup', run: (sandbox) => sandbox.cleanUp() },
    request: REQUESTS.clientToPublic,
    times: 1,
    expected: { kind: 'unanswered' },
  },
]

function scale(replicas: number): (sandbox: Sandbox) => Promise<void> {
  return async (sandbox) => {
    await sandbox.cluster.pods.scale(replicas)
    await sandbox.settled()
  }
}

/** Labels pod-1, which the policy of examples/policies then selects or not; resolves when that is in force. */
function isolate(labels: {
  readonly access: string | null
  readonly [PUBLIC]: string | null
}): (sandbox: Sandbox) => Promise<void> {
  return async (sandbox) => {
    await sandbox.cluster.pods.label('pod-1', labels)
    await sandbox.settled()
    const isolated = labels.access === null ? 0 : 1
    await sandbox.daemon.until(
      'enforces the policy',
      (now) => sumOf(now, OBJECTS, { kind: 'isolated_address' }) === isolated,
    )
  }
}

function replace(pod: string): (sandbox: Sandbox) => Promise<void> {
  return async (sandbox) => {
    await sandbox.cluster.pods.start(pod)
    await sandbox.settled()
  }
}

async function flush(sandbox: Sandbox): Promise<void> {
  const { daemon, options } = sandbox
  const before = await daemon.metrics()
  await sandbox.onNode(flushCommand(options))
  await daemon.until('has repaired what was flushed', (now) =>
    [FOUND, WRITTEN].every((name) => sumOf(now, name) > sumOf(before, name)),
  )
}

function answered(pods: readonly string[], saw: Seen): Expectation & { kind: 'answered' } {
  return { kind: 'answered', pods, spread: 'all', saw }
}

/** One step of the tour: an optional action, then requests. */
export interface Step {
  readonly title: string
  readonly action?: {
    /** The action in words, for the reader. */
    readonly description: string
    /** Whether requests are sent while the action runs, until it has ended. */
    readonly meanwhile?: boolean
    run(sandbox: Sandbox): Promise<void>
  }
  readonly request: Request
  readonly times: number
  readonly expected: Expectation
  /** The modes in which the step makes sense; absent: all. */
  readonly modes?: readonly string[]
  /** NetworkPolicies are rules of nftables in every mode. */
  readonly needsNftables?: true
  /** What differs in userspace mode, where node-proxy itself connects to endpoints: they see the node. */
  readonly inUserspace?: Partial<Pick<Step, 'title' | 'times' | 'expected'>>
}

/** The steps for a mode, and for a kernel with or without nftables, with what differs in the mode. */
export function stepsIn(
  mode: string,
  steps: readonly Step[],
  hasNftables: boolean,
): readonly Step[] {
  return steps
    .filter(({ modes }) => modes?.includes(mode) ?? true)
    .filter(({ needsNftables }) => hasNftables || needsNftables !== true)
    .map((step) => (mode === 'userspace' ? { ...step, ...step.inUserspace } : step))
}
