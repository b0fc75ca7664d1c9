import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Lab } from '../../lab/lab.ts'
import { addNamespace, type Namespace } from '../../lab/namespace.ts'
import { BRIDGE, GATEWAY, hostNet, NODE_NAME, OUTSIDE } from '../../lab/plan.ts'
import type { Site } from '../../lab/site.ts'
import {
  monotonicMs,
  RACE_PORTS,
  type RaceReply,
  type RaceRequest,
  type RaceResult,
  type RaceSettings,
} from './race.ts'

const PROGRAM = new URL('race-thread.ts', import.meta.url)
/** In the Node's podCIDRs; a Pod that was there before all others has the first address. */
const ADDRESSES = { first: 10, count: 240 } as const
const NODE_NET = { 4: '10.180.0.', 6: 'fd00:10:180::' } as const
/** Namespaces of the API. */
export const CLOSED = 'race-closed'
export const OPEN = 'race-open'

/** A Pod that was started, and what happened; times are those of `monotonicMs`. */
export interface StartedPod extends RaceResult {
  readonly key: string
  /** When the request that writes its address was sent, and answered. */
  readonly reportedAt: number
  readonly answeredAt: number
}

/** How one Pod is started. */
export interface PodStart {
  /** Of the API: `CLOSED` or `OPEN`. */
  readonly namespace: string
  /** Milliseconds after the node has answered it, at which the API server gets its address. */
  readonly reportAfterMs: number
  /** Milliseconds for which it goes on sending after its allowed connection works. */
  readonly lingerMs: number
}

/**
 * Starts Pods as a kubelet does: the object is there, then the network, and some time later the address in its status.
 * Each sends from the first moment of its network what policies forbid and what they allow, and is sent to.
 */
export class StartRace {
  readonly #lab: Lab
  readonly #prefix: string
  readonly #worker: Worker
  readonly #waiting = new Map<string, (reply: RaceReply) => void>()
  #fail: (error: Error) => void = () => {}
  readonly #failed = new Promise<never>((_, reject) => {
    this.#fail = reject
  })
  readonly #namespaces: Namespace[] = []
  readonly #keys: string[] = []
  #serial = 0

  constructor(lab: Lab) {
    this.#lab = lab
    this.#prefix = lab.node.namespace.name.replace(/-node$/, '')
    const hostOf = ({ namespace }: Site, { v4, v6 }: typeof OUTSIDE | typeof GATEWAY) => {
      return { namespace: namespace.name, ips: { 4: v4, 6: v6 } }
    }
    const workerData: RaceSettings = {
      sink: hostOf(lab.outside, OUTSIDE),
      node: hostOf(lab.node, GATEWAY),
    }
    const execArgv = ['--disable-warning=ExperimentalWarning']
    this.#worker = new Worker(PROGRAM, { workerData, execArgv })
    this.#worker.on('message', (reply: RaceReply) =>
      this.#waiting.get(`${reply.kind} ${reply.id}`)?.(reply),
    )
    this.#worker.on('error', this.#fail)
    this.#failed.catch(() => undefined)
  }

  /**
   * Writes the policies of `CLOSED`, which let its Pods reach one port and nothing else, and a Pod that has them, so that
   * a daemon shows when they are in force: as two policies.
   */
  async prepare(): Promise<void> {
    const { api, node } = this.#lab
    // Packets to a Pod that is not there yet would go back and forth between the node and its default gateway.
    await node.namespace.ip([
      `route replace blackhole ${NODE_NET[4]}0/24`,
      `route replace blackhole ${NODE_NET[6]}/64`,
    ])
    await api.apply(
      policy('default-deny', { policyTypes: ['Ingress', 'Egress'] }),
      policy('allow-one-port', {
        policyTypes: ['Egress'],
        egress: [{ ports: [{ protocol: 'TCP', port: RACE_PORTS.allowed }] }],
      }),
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OPEN } },
      podObject(CLOSED, 'first'),
    )
    await this.#report(`${CLOSED}/first`, addressesOf(ADDRESSES.first - 1))
  }

  /** Starts Pods, so many at a time. */
  async start(starts: readonly PodStart[], parallel: number): Promise<readonly StartedPod[]> {
    const started: StartedPod[] = []
    const waiting = starts.values()
    const one = async () => {
      for (const each of waiting) started.push(await this.#start(each))
    }
    await Promise.race([this.#failed, Promise.all(Array.from({ length: parallel }, one))])
    return started
  }

  /** Removes all Pods. */
  async clear(): Promise<void> {
    const { api } = this.#lab
    for (const key of this.#keys.splice(0)) {
      await api.request('DELETE', `${pathOf(key)}?gracePeriodSeconds=0`)
    }
    await Promise.all(this.#namespaces.splice(0).map((one) => one.remove()))
    this.#serial = 0
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
    await this.clear()
  }

  async #start({ namespace, reportAfterMs, lingerMs }: PodStart): Promise<StartedPod> {
    const id = this.#serial++
    if (id >= ADDRESSES.count) throw new Error(`more than ${ADDRESSES.count} Pods`)
    const key = `${namespace}/pod-${id}`
    const ips = addressesOf(ADDRESSES.first + id)
    await this.#lab.api.apply(podObject(namespace, `pod-${id}`))
    this.#keys.push(key)
    const place = await addNamespace(`${this.#prefix}-race${id}`)
    this.#namespaces.push(place)
    const [up, works] = [this.#reply('up', id), this.#reply('works', id)]
    const begun = this.#reply('begun', id)
    this.#request({ kind: 'begin', pod: { id, namespace: place.name, ips } })
    await begun
    await this.#connectPod(place, `race${id}`, ips)
    await up
    await delay(reportAfterMs)
    const reportedAt = monotonicMs()
    await this.#report(key, ips)
    const answeredAt = monotonicMs()
    await works
    const ended = this.#reply('ended', id)
    this.#request({ kind: 'end', id, afterMs: lingerMs })
    const { result } = await ended
    return { key, reportedAt, answeredAt, ...result }
  }

  /** The last command gives it routes, after which its first packet leaves. */
  async #connectPod(
    pod: Namespace,
    device: string,
    ips: ReturnType<typeof addressesOf>,
  ): Promise<void> {
    await this.#lab.node.namespace.ip([
      `link add ${device} type veth peer name eth0 netns ${pod.name}`,
      `link set ${device} master ${BRIDGE} up`,
      `route replace ${hostNet(ips[4])} dev ${BRIDGE}`,
      `route replace ${hostNet(ips[6])} dev ${BRIDGE}`,
    ])
    await pod.ip([
      'link set eth0 up',
      `addr add ${hostNet(ips[4])} dev eth0`,
      `addr add ${hostNet(ips[6])} dev eth0 nodad`,
      `route add ${hostNet(GATEWAY.v4)} dev eth0`,
      `route add ${hostNet(GATEWAY.v6)} dev eth0`,
      `route add default via ${GATEWAY.v6} dev eth0`,
      `route add default via ${GATEWAY.v4} dev eth0`,
    ])
  }

  async #report(key: string, ips: ReturnType<typeof addressesOf>): Promise<void> {
    const podIPs = Object.values(ips).map((ip) => ({ ip }))
    const status = { phase: 'Running', podIP: ips[4], podIPs }
    const path = `${pathOf(key)}/status`
    const { status: code, body } = await this.#lab.api.request('PATCH', path, { status })
    if (code !== 200) throw new Error(`${path}: ${code} ${body}`)
  }

  #request(request: RaceRequest): void {
    this.#worker.postMessage(request)
  }

  #reply<Kind extends RaceReply['kind']>(kind: Kind, id: number) {
    return new Promise<Extract<RaceReply, { kind: Kind }>>((resolve) => {
      const settle = (reply: RaceReply) => resolve(reply as Extract<RaceReply, { kind: Kind }>)
      this.#waiting.set(`${kind} ${id}`, settle)
    })
  }
}

function pathOf(key: string): string {
  return `/api/v1/namespaces/${key.replace('/', '/pods/')}`
}

function addressesOf(host: number) {
  return { 4: `${NODE_NET[4]}${host}`, 6: `${NODE_NET[6]}${host.toString(16)}` } as const
}

function podObject(namespace: string, name: string) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { nodeName: NODE_NAME, containers: [{ name: 'main', image: 'none' }] },
  }
}

function policy(name: string, spec: object) {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: CLOSED },
    spec: { podSelector: {}, ...spec },
  }
}
