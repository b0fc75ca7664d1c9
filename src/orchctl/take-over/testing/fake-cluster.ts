import type { Clock } from '../../../lib/clock.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  mergePatch,
  objectAt,
  stringAt,
} from '../../../lib/json.ts'
import type { Call, CallResult, TextResult } from '../../session/api.ts'
import { refused } from '../../session/call-failure.ts'
import { accepts, CLEAN_UP_LABEL, PROXY_LABEL, type Proxy, ruleOf } from '../placement.ts'
import type { MoveEnvironment } from '../requests.ts'

/** A Pod of the fake, with what its kubelet knows. */
interface FakePod {
  readonly name: string
  readonly node: string
  /** A proxy, or the one whose rules it removes. */
  readonly proxy: Proxy
  readonly isCleanUp: boolean
  readonly generation: number
  age: number
  isDeleting: boolean
  /** Ticks since it was to end. */
  leaving: number
}

/** More than any move needs. */
const MAX_REQUESTS = 20_000
/** Ticks that a Pod takes to end. */
const GRACE = 4

const SYSTEM = '/api/v1/namespaces/kube-system'
const SETS = '/apis/apps/v1/namespaces/kube-system/daemonsets'
const PROXIES: readonly Proxy[] = ['kube-proxy', 'node-proxy']
const LOG = 'the rules are in the kernel for the first time'

/**
 * A cluster with an API server, the controller of DaemonSets, kubelets and the two proxies, in which time passes when
 * somebody sleeps. kube-proxy is ready before its rules are written; node-proxy is ready only when kube-proxy is gone.
 */
export class FakeCluster {
  readonly objects = new Map<string, JsonObject>()
  readonly pods = new Map<string, FakePod>()
  /** The proxies that have rules on each node. */
  readonly rules = new Map<string, Set<Proxy>>()
  readonly lines: string[] = []
  /** What must never be. */
  readonly violations: string[] = []
  requests = 0
  /** Which of the requests were to change something. */
  readonly writes: number[] = []
  /** The request at which the client dies, before or after the server has done it. */
  crash: { readonly at: number; readonly isDone: boolean } | undefined
  /** The node whose node-proxy crashes from this request on. */
  broken: { readonly node: string; readonly from: number } | undefined
  /** The most nodes on their way at the same time. */
  mostMoving = 0
  hasBroken = false
  #now = 0
  #serial = 0

  constructor(names: readonly string[]) {
    for (const name of names) this.addNode(name, 'kube-proxy')
    this.#put(`${SETS}/kube-proxy`, daemonSet('kube-proxy', 'registry/kube-proxy:v1.31.0'))
    for (let tick = 0; tick < 4; tick++) this.#tick()
  }

  environment(timeoutMs = 60_000): MoveEnvironment {
    const clock: Clock = {
      now: () => this.#now,
      after: (ms, task) => {
        this.#now += ms
        this.#tick()
        queueMicrotask(task)
        return () => undefined
      },
    }
    return {
      api: {
        request: async (call) => this.#request(call),
        requestText: async (call) => this.#text(call),
      },
      clock,
      notice: (line) => void this.lines.push(line),
      signal: new AbortController().signal,
      pollMs: 1_000,
      timeoutMs,
    }
  }

  /** A node without the label, with the rules of the proxy that the cluster gives it. */
  addNode(name: string, proxy: Proxy): void {
    this.rules.set(name, new Set([proxy]))
    this.#put(`/api/v1/nodes/${name}`, {
      kind: 'Node',
      metadata: { name, labels: { 'kubernetes.io/os': 'linux' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    })
  }

  /** A node without power: its Pods are there, and not ready. */
  setReady(name: string, isReady: boolean): void {
    const path = `/api/v1/nodes/${name}`
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }]
    const changed = mergePatch(this.objects.get(path), { status: { conditions } })
    if (isJsonObject(changed)) this.#put(path, changed)
  }

  #isReady(name: string): boolean {
    const [condition] = arrayAt(this.objects.get(`/api/v1/nodes/${name}`), 'status', 'conditions')
    return stringAt(condition, 'status') === 'True'
  }

  label(node: string): string {
    return stringAt(this.objects.get(`/api/v1/nodes/${node}`), 'metadata', 'labels', PROXY_LABEL)
  }

  /** Everything that is stored, without what the server counts. */
  stored(): readonly (readonly [string, Json])[] {
    return [...this.objects]
      .map(([path, object]): readonly [string, Json] => {
        const counted = { metadata: { resourceVersion: null, generation: null }, status: null }
        return [path, mergePatch(object, counted)]
      })
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
  }

  #request(call: Call): CallResult {
    this.requests++
    if (this.requests > MAX_REQUESTS) throw new Error('it goes on for ever')
    if (call.method !== undefined) this.writes.push(this.requests)
    const { crash } = this
    const isLast = crash?.at === this.requests
    const isOver = crash !== undefined && this.requests >= crash.at
    if (isOver && !(isLast && crash.isDone)) throw new Error('killed')
    const result = this.#answer(call)
    this.#check()
    if (isLast) throw new Error('killed')
    return result
  }

  #text({ path }: Call): TextResult {
    this.requests++
    if (path.endsWith('/proxy/healthz')) return { ok: true, text: 'ok' }
    const pod = this.pods.get(path.split('/').at(-2) ?? '')
    if (pod === undefined) return { ok: false, failure: refused(404, undefined) }
    return { ok: true, text: this.#hasWritten(pod) ? `a line\nI ${LOG} 10ms\n` : 'a line\n' }
  }

  #answer({ method = 'GET', path, query = {}, body }: Call): CallResult {
    if (method === 'POST') return this.#create(path, body)
    if (path === '/api/v1/nodes') return found({ items: this.#under('/api/v1/nodes/') })
    if (path === `${SYSTEM}/pods`) {
      const node = (query['fieldSelector'] ?? '').replace('spec.nodeName=', '')
      const pods = [...this.pods.values()].filter((pod) => node === '' || pod.node === node)
      return found({ items: pods.map((pod) => this.#podObject(pod)) })
    }
    if (method === 'DELETE' && path.startsWith(`${SYSTEM}/pods/`)) return this.#deletePod(path)
    const object = this.objects.get(path)
    if (object === undefined) return { ok: false, failure: refused(404, undefined) }
    if (method === 'GET') return found(this.#shown(object))
    const version = stringAt(body, 'preconditions', 'resourceVersion')
    if (method === 'DELETE') {
      if (version !== '' && version !== versionOf(object)) return CONFLICT
      this.objects.delete(path)
      return found({})
    }
    return this.#change(path, object, { body, isWhole: method === 'PUT' })
  }

  #create(collection: string, body: Json | undefined): CallResult {
    const object = isJsonObject(body) ? body : {}
    const name = stringAt(object, 'metadata', 'name')
    const path = `${collection}/${name}`
    if (this.objects.has(path) || this.pods.has(name)) {
      return CONFLICT
    }
    if (collection === `${SYSTEM}/pods`) {
      const proxy = stringAt(object, 'metadata', 'labels', CLEAN_UP_LABEL) as Proxy
      this.#addPod(name, stringAt(object, 'spec', 'nodeName'), { proxy, isCleanUp: true })
    } else this.#put(path, object)
    return found(this.objects.get(path) ?? object)
  }

  #change(
    path: string,
    object: JsonObject,
    { body = {}, isWhole }: { readonly body: Json | undefined; readonly isWhole: boolean },
  ): CallResult {
    const version = stringAt(body, 'metadata', 'resourceVersion')
    if (version !== '' && version !== versionOf(object)) return CONFLICT
    const changed = isWhole ? body : mergePatch(object, body)
    if (isJsonObject(changed)) this.#put(path, changed)
    return found(this.objects.get(path) ?? {})
  }

  #deletePod(path: string): CallResult {
    const pod = this.pods.get(path.split('/').at(-1) ?? '')
    if (pod === undefined) return { ok: false, failure: refused(404, undefined) }
    pod.isDeleting = true
    return found({})
  }

  #put(path: string, object: JsonObject): void {
    const version = String(++this.#serial)
    const metadata = { resourceVersion: version, generation: this.#serial }
    const stored = mergePatch(object, { metadata })
    if (isJsonObject(stored)) this.objects.set(path, stored)
  }

  #under(prefix: string): JsonObject[] {
    return [...this.objects].filter(([path]) => path.startsWith(prefix)).map(([, one]) => one)
  }

  #addPod(name: string, node: string, what: { proxy: Proxy; isCleanUp: boolean }): void {
    const generation = Number(objectAt(this.#set(what.proxy), 'metadata')['generation'] ?? 0)
    this.pods.set(name, { name, node, ...what, generation, age: 0, isDeleting: false, leaving: 0 })
  }

  #set(proxy: Proxy): JsonObject | undefined {
    return this.objects.get(`${SETS}/${proxy}`)
  }

  #podOf(proxy: Proxy, node: string): FakePod | undefined {
    return [...this.pods.values()].find(
      (pod) => !pod.isCleanUp && pod.proxy === proxy && pod.node === node,
    )
  }

  #wants(proxy: Proxy, node: string): boolean {
    const set = this.#set(proxy)
    return set !== undefined && accepts(ruleOf(set), this.label(node))
  }

  #isBroken({ node, proxy }: FakePod): boolean {
    const { broken } = this
    const isIt = broken?.node === node && this.requests >= broken.from && proxy === 'node-proxy'
    if (isIt) this.hasBroken = true
    return isIt
  }

  #hasWritten(pod: FakePod): boolean {
    return pod.age >= 3
  }

  /** One step of the controller and of every kubelet. */
  #tick(): void {
    for (const pod of this.pods.values()) {
      if (!this.#isReady(pod.node)) continue
      if (pod.isDeleting && ++pod.leaving >= GRACE) this.pods.delete(pod.name)
      else this.#run(pod)
    }
    for (const proxy of PROXIES) {
      const generation = Number(objectAt(this.#set(proxy), 'metadata')['generation'] ?? 0)
      let isRolling = false
      for (const node of this.rules.keys()) {
        const pod = this.#podOf(proxy, node)
        if (!this.#wants(proxy, node)) {
          if (pod !== undefined) pod.isDeleting = true
        } else if (pod === undefined) {
          const name = `${proxy}-${++this.#serial}`
          this.#addPod(name, node, { proxy, isCleanUp: false })
        } else if (!this.#isReady(node)) isRolling = true
        else if (pod.generation !== generation && !isRolling) {
          pod.isDeleting = true
          isRolling = true
        }
      }
    }
    this.#check()
  }

  #run(pod: FakePod): void {
    pod.age++
    const rules = this.rules.get(pod.node)
    if (!pod.isCleanUp) {
      if (this.#hasWritten(pod) && !this.#isBroken(pod)) rules?.add(pod.proxy)
    } else if (pod.age === 2) {
      rules?.delete(pod.proxy)
      if (this.#podOf(pod.proxy, pod.node) !== undefined) {
        this.violations.push(`${pod.node}: rules of a running ${pod.proxy} are removed`)
      }
    }
  }

  /** A node is served by a proxy that has rules there, and belongs there. */
  #check(): void {
    for (const [node, rules] of this.rules) {
      const isServed = PROXIES.some((proxy) => rules.has(proxy) && this.#wants(proxy, node))
      if (!isServed) this.violations.push(`${node}: not served, label ${this.label(node)}`)
    }
    const moving = [...this.rules.keys()].filter((node) => this.label(node) === 'both').length
    this.mostMoving = Math.max(this.mostMoving, moving)
  }

  #podObject(pod: FakePod): JsonObject {
    const { name, node, proxy, isCleanUp, age } = pod
    const isBroken = !isCleanUp && this.#isBroken(pod)
    const isBlocked = proxy === 'node-proxy' && this.#podOf('kube-proxy', node) !== undefined
    const isRunning = proxy === 'kube-proxy' ? age >= 1 : this.#hasWritten(pod) && !isBlocked
    const isUp = isRunning && this.#isReady(node)
    const waiting: JsonObject = isBroken ? { waiting: { reason: 'CrashLoopBackOff' } } : {}
    return {
      metadata: {
        name,
        ...(pod.isDeleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
        ...(isCleanUp
          ? { labels: { [CLEAN_UP_LABEL]: proxy } }
          : { ownerReferences: [{ kind: 'DaemonSet', name: proxy }] }),
      },
      spec: { nodeName: node },
      status: {
        phase: isCleanUp && age >= 2 ? 'Succeeded' : 'Running',
        conditions: [{ type: 'Ready', status: isUp && !isBroken ? 'True' : 'False' }],
        containerStatuses: [
          { name: proxy, state: waiting, restartCount: 0, containerID: age >= 1 ? 'a' : '' },
        ],
      },
    }
  }

  #shown(object: JsonObject): JsonObject {
    if (object['kind'] !== 'DaemonSet') return object
    const proxy = stringAt(object, 'metadata', 'name') as Proxy
    const generation = objectAt(object, 'metadata')['generation'] ?? 0
    const nodes = [...this.rules.keys()].filter((node) => this.#wants(proxy, node))
    const pods = nodes.flatMap((node) => this.#podOf(proxy, node) ?? [])
    const isNew = (pod: FakePod): boolean => pod.generation === generation
    const status = {
      observedGeneration: generation,
      desiredNumberScheduled: nodes.length,
      updatedNumberScheduled: pods.filter(isNew).length,
      numberAvailable: pods.filter((pod) => pod.age >= 1 && this.#isReady(pod.node)).length,
    }
    return { ...object, status }
  }
}

/** The objects of node-proxy that the tests install. */
export function nodeProxyManifests(): readonly JsonObject[] {
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'node-proxy' } },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'node-proxy' },
      data: { 'config.yaml': 'mode: iptables\nclusterCIDR: 10.244.0.0/16\n' },
    },
    daemonSet('node-proxy', 'node-proxy:0.1.0'),
  ]
}

function daemonSet(name: string, image: string): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'kube-system' },
    spec: { template: { spec: { containers: [{ name, image }] } } },
  }
}

const CONFLICT: CallResult = { ok: false, failure: refused(409, undefined) }

function versionOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'resourceVersion')
}

function found(body: JsonObject): CallResult {
  return { ok: true, value: { status: 200, body } }
}
