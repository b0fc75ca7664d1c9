import { systemClock } from '../../src/lib/clock.ts'
import { formatIp, parseCidr, parseIp } from '../../src/lib/ip.ts'
import { readPolicy } from '../../src/networkpolicy/read-policy.ts'
import { cleanUpPolicies } from '../../src/nodeproxy/kernel/policy-tables.ts'
import type { PolicyEvent } from '../../src/policy/policy-content.ts'
import { BACKENDS, CLIENT, TARGET_PORT } from '../lab/plan.ts'
import { NODE } from './events.ts'
import { openEnforcer } from './open-enforcer.ts'

/**
 * Writes the rules for two Pods of the node that reach each other, in the network namespace in which it runs, and ends;
 * the kernel keeps them. So many policies isolate both in both directions, of which only the last one that a packet meets
 * admits the other Pod. Without an argument it removes the tables.
 */
const NAMESPACE = 'pair'
const PEERS_EACH = 50
const PEERS = 0x0a80_0000

const [argument] = process.argv.slice(2)
if (argument === undefined) await cleanUpPolicies(systemClock)
else await write(Number(argument))
process.exit(0)

async function write(policies: number): Promise<void> {
  // Neither sockets nor timers of the enforcer keep a process alive.
  setInterval(() => undefined, 1_000)
  const enforcer = openEnforcer({ unknownPods: 'allow', logDeniedPerSecond: 0 })
  await new Promise<void>((resolve) => {
    enforcer.enqueue(pairEvents(policies), resolve)
    enforcer.setSynced()
  })
  await enforcer.stop()
}

function pairEvents(policies: number): readonly PolicyEvent[] {
  const last = Math.max(0, policies - 1)
  const groups = Array.from({ length: policies }, (_, group) => group)
  return [
    { kind: 'node', podCIDRs: [parseCidr('10.251.0.0/16')!, parseCidr('10.252.0.0/16')!] },
    { kind: 'namespace', name: NAMESPACE, labels: {} },
    ...groups.map(policyEvent),
    ...groups.flatMap((group) =>
      Array.from({ length: PEERS_EACH }, (_, n) =>
        podEvent(`peer-${group}-${n}`, {
          ip: textOf(PEERS + group * PEERS_EACH + n),
          group,
          nodeName: 'elsewhere',
        }),
      ),
    ),
    podEvent('client', { ip: CLIENT.host, group: last, nodeName: NODE }),
    podEvent('server', { ip: BACKENDS.host, group: last, nodeName: NODE }),
  ]
}

/** Chains of Pods have policies in the order of their names. */
function policyEvent(group: number): PolicyEvent {
  const name = `policy-${String(group).padStart(4, '0')}`
  const peers = [{ podSelector: { matchLabels: { group: `${group}` } } }]
  const ports = [{ port: TARGET_PORT }]
  const object = {
    metadata: { namespace: NAMESPACE, name },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: peers, ports }],
      egress: [{ to: peers, ports }],
    },
  }
  return { kind: 'policy', key: `${NAMESPACE}/${name}`, value: readPolicy(object) }
}

interface Placed {
  readonly ip: string
  readonly group: number
  readonly nodeName: string
}

function podEvent(name: string, { ip, group, nodeName }: Placed): PolicyEvent {
  const key = `${NAMESPACE}/${name}`
  return {
    kind: 'pod',
    key,
    value: {
      key,
      namespace: NAMESPACE,
      labels: { group: `${group}` },
      ips: [parseIp(ip)!],
      nodeName,
      isBeingDeleted: false,
      createdAt: 0,
      namedPorts: [],
    },
  }
}

function textOf(ip: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(ip)
  return formatIp(bytes)
}
