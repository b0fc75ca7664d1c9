import { sumOf } from '../daemon/samples.ts'
import { flushCommand } from '../environment/by-hand-programs.ts'
import { REQUESTS } from '../environment/requests.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import { CLIENT_IP, GATEWAY, NODE_IP, PODS } from '../network/plan.ts'
import type { Expectation, Seen } from './expectation.ts'
import type { Step } from './step.ts'

/** So many that a pod with its fair share of three is left out once in 2 million tours. */
const MANY = 40
const FEW = 10
/** Counts what is about to be repaired; the time of the last write tells when it was. */
const FOUND = 'nodeproxy_drift_repairs_total'
const WRITTEN = 'nodeproxy_sync_proxy_rules_last_timestamp_seconds'

/** The whole tour, in order. */
export const TOUR: readonly Step[] = [
  {
    title: 'A pod asks a Service by its ClusterIP; where it meets itself, it sees the node',
    request: REQUESTS.podToWeb,
    times: MANY,
    expected: answered(PODS, (pod, addressOf) => [pod === 'pod-1' ? GATEWAY : addressOf('pod-1')]),
  },
  {
    title: 'The node asks the same Service: masqueraded, because it is no pod',
    request: REQUESTS.nodeToWeb,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'A client outside asks the node port: the pods see the node',
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'The same with externalTrafficPolicy Local: the pods see the client',
    request: REQUESTS.clientToLocal,
    times: MANY,
    expected: answered(PODS, () => [CLIENT_IP]),
  },
  {
    title: 'Policy Local with all pods on another node: silence, so that others take over',
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
    request: REQUESTS.strangerToBalanced,
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
    request: REQUESTS.strangerToCart,
    times: MANY,
    expected: { ...answered(PODS, () => [GATEWAY, NODE_IP]), spread: 'one' },
  },
  {
    title: 'A Service without endpoints refuses a pod at once',
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
    title: 'Scaled down, one pod does all the work',
    action: { says: 'scale web-public to 1', run: scale(1) },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(['pod-1'], () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'Scaled up, all share it again',
    action: { says: 'scale web-public to 3', run: scale(3) },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'A pod is killed: traffic moves to the others',
    action: {
      says: 'kill -9 the process of pod-2',
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
    title: 'Affinity holds nobody to a dead pod',
    request: REQUESTS.clientToCart,
    times: MANY,
    expected: { ...answered(['pod-1', 'pod-3'], () => [GATEWAY, NODE_IP]), spread: 'one' },
  },
  {
    title: 'The pod is back and gets its share',
    action: { says: 'replace pod-2', run: replace('pod-2') },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'A pod is asked to end and drains: while it goes, no request fails',
    action: {
      says: 'SIGTERM to the process of pod-3; meanwhile:',
      meanwhile: true,
      run: (sandbox) => sandbox.cluster.pods.signal('pod-3', 'SIGTERM'),
    },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'Another one takes its place',
    action: { says: 'replace pod-3', run: replace('pod-3') },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'Somebody flushes the NAT rules: they are put back',
    modes: ['iptables'],
    action: { says: 'iptables -t nat -F, on the node', run: flush },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'Somebody clears the virtual servers: they are put back',
    modes: ['ipvs'],
    action: { says: 'ipvsadm -C, on the node', run: flush },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'node-proxy stops: what it wrote goes on working',
    action: { says: 'SIGTERM to node-proxy', run: ({ daemon }) => daemon.stop('SIGTERM') },
    request: REQUESTS.clientToPublic,
    times: MANY,
    expected: answered(PODS, () => [GATEWAY, NODE_IP]),
  },
  {
    title: 'node-proxy --cleanup: nobody answers any more',
    action: { says: 'node-proxy --cleanup', run: (sandbox) => sandbox.cleanUp() },
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
