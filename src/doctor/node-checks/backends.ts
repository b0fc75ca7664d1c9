import { hostPort } from '../../lib/ip.ts'
import { checkOfEachNode } from '../evidence/finding.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'

/** A backend on this node refuses connections at its port: nothing listens there. */
export const backendRefuses = checkOfEachNode('backend-refuses', ({ connects }) => {
  const refusing = connects.filter(({ answer }) => answer === 'refuses')
  return [...Map.groupBy(refusing, ({ service }) => service)].map(([service, backends]) => {
    const ports = [...new Set(backends.map(({ port }) => port))]
    const all = connects.filter((one) => one.service === service).length
    const [namespace = '', name = ''] = service.split('/')
    return {
      symptom: 'Service not reachable',
      cause: `${backends.length} of ${all} backends of service/${service} on this node refuse connections at port ${ports.join(', ')}: nothing listens there`,
      evidence: backends
        .slice(0, 5)
        .map(({ ip, port }) => `${ip} port ${port}: connection refused`),
      remedy:
        'correct targetPort, or the port and address at which the program in the Pod listens (0.0.0.0, not 127.0.0.1)',
      commands: [`kubectl -n ${namespace} get service ${name} -o yaml`],
      services: [service],
    }
  })
})

type Load = NodeFacts['loads'][number]

/** Connections per backend between the two reads that are needed to judge the balance. */
const ENOUGH = 30
/** The multiple of its equal share, and the standard deviations from it, above which a backend is unbalanced. */
const TIMES = 2
const DEVIATIONS = 6
/** With few backends the multiple cannot be reached; then a backend with this part of all connections is unbalanced. */
const ALL = 0.9

/** One backend gets far more connections than the others: clients are remembered, or few of them stay connected. */
export const unbalancedLoad = checkOfEachNode('unbalanced-load', ({ loads, daemon }) =>
  loads.filter(isUnbalanced).map((load) => {
    const { service, entry, affinitySeconds } = load
    const sorted = load.backends.toSorted((a, b) => b.connections - a.connections)
    const reason =
      affinitySeconds > 0
        ? `session affinity keeps each client at one backend for ${affinitySeconds} s`
        : 'few clients, or long-lived connections: the choice is made once for each connection'
    return {
      symptom: 'Unbalanced load',
      cause: `one of ${sorted.length} backends of ${entry} has ${percentOfMost(load)} % of its connections: ${reason}`,
      evidence: sorted
        .slice(0, 5)
        .map(
          ({ ip, port, connections, connectionsNow }) =>
            `${ip} port ${port}: ${connections} connections${connectionsNow < 0 ? '' : `, ${connectionsNow} open now`}`,
        ),
      remedy:
        affinitySeconds > 0
          ? 'turn off sessionAffinity or shorten timeoutSeconds; behind one address (NAT, a proxy) many clients count as one'
          : `let clients reconnect from time to time${daemon?.mode === 'ipvs' ? ', or take the scheduler lc' : ''}`,
      commands: [`node-proxy entries ${service}`],
      services: [service],
    }
  }),
)

function isUnbalanced({ backends }: Load): boolean {
  const counted = backends.filter(({ connections }) => connections >= 0)
  const total = counted.reduce((sum, { connections }) => sum + connections, 0)
  if (counted.length < 2 || counted.length < backends.length) return false
  if (total < ENOUGH * counted.length) return false
  const share = total / counted.length
  const most = Math.max(...counted.map(({ connections }) => connections))
  return (
    most >= share * Math.min(TIMES, counted.length * ALL) &&
    most - share >= DEVIATIONS * Math.sqrt(share)
  )
}

function percentOfMost({ backends }: Load): number {
  const total = backends.reduce((sum, { connections }) => sum + connections, 0)
  return Math.round((Math.max(...backends.map(({ connections }) => connections)) / total) * 100)
}

/** Another process listens at a node port: its packets go to the Service instead. */
export const takenNodePort = checkOfEachNode('taken-node-port', ({ takenPorts, settings }) => {
  const range = settings['net.ipv4.ip_local_port_range'] ?? ''
  const [first = 0, last = 0] = range.split(/\s+/).map(Number)
  return takenPorts.map(({ protocol, address, port, process, pid, entry }) => {
    const isEphemeral = port >= first && port <= last
    return {
      symptom: 'External access fails',
      cause: `${process} (pid ${pid}) listens at ${protocol} port ${port}, which is a node port of ${entry}`,
      evidence: [
        `socket ${hostPort(address, port)}/${protocol}`,
        ...(isEphemeral
          ? [
              `net.ipv4.ip_local_port_range = ${first} ${last}: the kernel gives such ports to processes`,
            ]
          : []),
      ],
      remedy: isEphemeral
        ? 'reserve the range of node ports, then start the process again'
        : 'give one of the two another port',
      commands: [
        `ss -lntup sport = :${port}`,
        ...(isEphemeral ? ['sysctl -w net.ipv4.ip_local_reserved_ports=30000-32767'] : []),
      ],
      services: [entry.split(':')[0] ?? ''],
    }
  })
})
