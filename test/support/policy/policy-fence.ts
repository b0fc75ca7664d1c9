import type { Lab } from '../lab/lab.ts'
import { sumOf } from '../lab/metrics.ts'
import type { Site } from '../lab/site.ts'
import { dualStackPod } from './policy-lab.ts'

const NAMESPACE = 'fence'
const SERVER = { 4: '10.180.0.101', 6: 'fd00:10:180::101' } as const
const CLIENT = { 4: '10.180.0.102', 6: 'fd00:10:180::102' } as const
const PORTS = [7001, 7002] as const
const FAMILIES = [4, 6] as const
/** Milliseconds until a datagram without an answer is sent again. */
const AGAIN_MS = 40
const TIMEOUT_MS = 60_000

/**
 * Waits until everything that was written is enforced, by packets alone: two Pods that reach each other only when a
 * policy, a Pod and a namespace that were written after all others have their effect, in both families.
 */
export class PolicyFence {
  readonly #lab: Lab
  #client: Site | undefined
  #serial = 0

  constructor(lab: Lab) {
    this.#lab = lab
  }

  /**
   * Makes the Pods, and waits until their policy refuses packets in both families: before that, an answer would not show
   * that anything is enforced.
   */
  async open(): Promise<void> {
    const { api } = this.#lab
    const server = await dualStackPod(this.#lab, SERVER)
    this.#client = await dualStackPod(this.#lab, CLIENT)
    for (const family of FAMILIES) {
      for (const port of PORTS) {
        const listener = { protocol: 'UDP', ip: SERVER[family], port, name: 'fence' } as const
        await server.agent.call('listen', listener)
      }
    }
    await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
    await api.apply(podObject('server', SERVER), podObject('client', CLIENT))
    await api.apply(policyObject('of-nobody', PORTS[0]))
    for (const family of FAMILIES) await this.#untilRefused(family)
  }

  /** Throws if nothing is admitted that should be. */
  async pass(): Promise<void> {
    const { api } = this.#lab
    const serial = `s${++this.#serial}`
    const port = PORTS[this.#serial % PORTS.length] ?? PORTS[0]
    const labels = { metadata: { labels: { serial } } }
    await api.patch('Namespace', `/${NAMESPACE}`, labels)
    await api.patch('Pod', `${NAMESPACE}/client`, labels)
    await api.apply(policyObject(serial, port))
    await Promise.all(FAMILIES.map((family) => this.#untilAnswered(family, port)))
  }

  async #untilRefused(family: 4 | 6): Promise<void> {
    const before = await this.#refused()
    await this.#until(async () => {
      await this.#isAnswered(family, PORTS[0])
      return (await this.#refused()) > before
    })
  }

  /** The packets that the policy refused. */
  async #refused(): Promise<number> {
    const samples = await this.#lab.daemon.metrics()
    return sumOf(samples, 'nodeproxy_policy_dropped_packets_total', { policy: 'fence/fence' })
  }

  #untilAnswered(family: 4 | 6, port: number): Promise<void> {
    return this.#until(() => this.#isAnswered(family, port))
  }

  async #isAnswered(family: 4 | 6, port: number): Promise<boolean> {
    const [outcome] = await this.#client!.agent.call('connect', {
      protocol: 'UDP',
      source: CLIENT[family],
      destination: SERVER[family],
      port,
      timeoutMs: AGAIN_MS,
    })
    return outcome?.kind === 'answered'
  }

  async #until(isReached: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + TIMEOUT_MS
    while (performance.now() < deadline) if (await isReached()) return
    throw new Error(`policies: not in force within ${TIMEOUT_MS} ms\n${this.#lab.daemon.logs()}`)
  }
}

function podObject(name: string, ips: typeof SERVER | typeof CLIENT) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: { fence: name } },
    spec: { nodeName: 'test-node', containers: [{ name, image: 'registry.example/fence:1' }] },
    status: {
      phase: 'Running',
      podIP: ips[4],
      podIPs: FAMILIES.map((family) => ({ ip: ips[family] })),
    },
  }
}

/** Admits Pods and namespaces of this serial number to one port, which another one before did not admit. */
function policyObject(serial: string, port: number) {
  const selector = { matchLabels: { serial } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'fence', namespace: NAMESPACE },
    spec: {
      podSelector: { matchLabels: { fence: 'server' } },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [{ namespaceSelector: selector, podSelector: selector }],
          ports: [{ protocol: 'UDP', port }],
        },
      ],
    },
  }
}
