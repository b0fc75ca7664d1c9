import type { HttpReply } from '../agent/protocol.ts'
import type { Agent } from './agent.ts'
import { fenceOf } from './fence.ts'
import type { KubeconfigParts } from './kubeconfig.ts'
import type { ApiObject } from './objects.ts'

/** Resources whose revisions the daemon reports. */
const PLURALS: Readonly<Record<string, string>> = {
  Service: 'services',
  Endpoints: 'endpoints',
  EndpointSlice: 'endpointslices',
  Node: 'nodes',
  Namespace: 'namespaces',
  Pod: 'pods',
  NetworkPolicy: 'networkpolicies',
}

/** How often an object is replaced that controllers write, too. */
const MAX_ATTEMPTS = 10

/** The lab's own client of the API server, and the revisions of what it wrote. */
export interface Api {
  readonly url: string
  /** PEM of the server's authority, where it has one. */
  readonly ca: string | undefined
  /** Creates or replaces, status included. */
  apply(...objects: readonly ApiObject[]): Promise<void>
  /** Creates any object with any name; the lab does not keep track of it. */
  plant(object: ApiObject): Promise<void>
  /** Merge patch (RFC 7396) of `Service ns/name` or another kind. */
  patch(kind: string, key: string, patch: object): Promise<void>
  remove(kind: string, key: string): Promise<void>
  /** Deletes everything that the lab wrote, Nodes excepted. */
  clear(): Promise<void>
  /**
   * Writes fence objects after everything written so far, so that `written` has revisions that will reach the daemon.
   */
  fence(): Promise<void>
  /** Forgets all revisions, because the server has lost its state and counts from one again. */
  forget(): void
  /** What the server holds now. */
  get(kind: string, key: string): Promise<unknown>
  /** Highest revision written so far, per resource in lower-case plural. */
  readonly written: ReadonlyMap<string, number>
  /** Any other request. */
  request(method: string, path: string, body?: unknown): Promise<HttpReply>
}

export function createApi(agent: Agent, { url, ca, credential }: KubeconfigParts): Api {
  const written = new Map<string, number>()
  const namespaces = new Set<string>()
  /** Kinds that were written since their last fence, with the apiVersion in which they were written. */
  const unfenced = new Map<string, string>()
  let fences = 0
  const held = new Map<string, { kind: string; key: string; apiVersion: string }>()

  async function request(method: string, path: string, body?: unknown): Promise<HttpReply> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    return agent.call('http', {
      url: `${url}${path}`,
      method,
      headers: { 'content-type': type, accept: 'application/json' },
      ...(ca === undefined ? {} : { ca }),
      ...(credential === undefined ? {} : { credential }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async function write(method: string, path: string, body?: unknown): Promise<void> {
    noteWritten(`${method} ${path}`, path, await request(method, path, body))
  }

  function noteWritten(what: string, path: string, reply: HttpReply): void {
    if (reply.status >= 300) throw new Error(`${what}: ${reply.status} ${reply.body}`)
    const resource = /\/(services|endpoints|endpointslices|nodes)\//.exec(`${path}/`)?.[1]
    if (resource === undefined) return
    written.set(resource, Math.max(written.get(resource) ?? 0, revisionOf(reply.body)))
  }

  async function ensureNamespace(name: string | undefined): Promise<void> {
    if (name === undefined || namespaces.has(name)) return
    namespaces.add(name)
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
    await request('POST', '/api/v1/namespaces', namespace)
  }

  function touched(kind: string, apiVersion: string): void {
    if (kind !== 'Node' && kind !== 'Namespace') unfenced.set(kind, apiVersion)
  }

  async function applyOne(object: ApiObject): Promise<void> {
    touched(object.kind, object.apiVersion)
    await ensureNamespace(object.metadata.namespace)
    const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`
    held.set(`${object.kind} ${key}`, { kind: object.kind, key, apiVersion: object.apiVersion })
    const path = await put(object)
    if (object['status'] !== undefined) await applyStatus(path, object)
  }

  /** Creates or replaces; returns the object's path. */
  async function put(object: ApiObject): Promise<string> {
    const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`
    const path = pathOf(object.kind, key, object.apiVersion)
    if ((await request('GET', path)).status === 404) {
      await write('POST', path.slice(0, path.lastIndexOf('/')), object)
    } else {
      await replace(path, '', (_now, resourceVersion) => ({
        ...object,
        metadata: { ...object.metadata, resourceVersion },
      }))
    }
    return path
  }

  /** Replaces what is there; again where a controller has written between the two. */
  async function replace(
    path: string,
    subresource: '' | '/status',
    change: (now: ApiObject, resourceVersion: string) => object | undefined,
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const found = (await request('GET', path)).body
      const body = change(JSON.parse(found) as ApiObject, String(revisionOf(found)))
      if (body === undefined) return
      const reply = await request('PUT', `${path}${subresource}`, body)
      if (reply.status === 409 && attempt < MAX_ATTEMPTS) continue
      return noteWritten(`PUT ${path}${subresource}`, path, reply)
    }
  }

  /** Writes the status separately, because servers with a status subresource drop it from other writes. */
  async function applyStatus(path: string, object: ApiObject): Promise<void> {
    const { status } = object
    await replace(path, '/status', (now) =>
      JSON.stringify(now['status']) === JSON.stringify(status) ? undefined : { ...now, status },
    )
  }

  return {
    url,
    ca,
    written,
    request,
    async apply(...objects) {
      for (const object of objects) await applyOne(object)
    },
    async plant(object) {
      touched(object.kind, object.apiVersion)
      const path = pathOf(object.kind, `${object.metadata.namespace ?? ''}/x`, object.apiVersion)
      await write('POST', path.slice(0, path.lastIndexOf('/')), object)
    },
    async patch(kind, key, patch) {
      const apiVersion = held.get(`${kind} ${key}`)?.apiVersion ?? versionOf(kind)
      touched(kind, apiVersion)
      await write('PATCH', pathOf(kind, key, apiVersion), patch)
    },
    async remove(kind, key) {
      const apiVersion = held.get(`${kind} ${key}`)?.apiVersion ?? versionOf(kind)
      held.delete(`${kind} ${key}`)
      touched(kind, apiVersion)
      await write('DELETE', pathOf(kind, key, apiVersion))
    },
    async clear() {
      for (const [name, { kind, key, apiVersion }] of held) {
        if (kind === 'Node') continue
        held.delete(name)
        touched(kind, apiVersion)
        const path = pathOf(kind, key, apiVersion)
        if ((await request('GET', path)).status !== 404) await write('DELETE', path)
      }
    },
    async fence() {
      const kinds = [...unfenced]
      unfenced.clear()
      for (const [kind, apiVersion] of kinds) {
        await ensureNamespace('lab')
        await put(fenceOf(kind, apiVersion, ++fences))
      }
    },
    forget() {
      written.clear()
      held.clear()
      namespaces.clear()
    },
    async get(kind, key) {
      return JSON.parse((await request('GET', pathOf(kind, key))).body) as unknown
    },
  }
}

function pathOf(kind: string, key: string, apiVersion?: string): string {
  const slash = key.indexOf('/')
  const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)]
  const version = apiVersion ?? versionOf(kind)
  const root = version === 'v1' ? '/api/v1' : `/apis/${version}`
  const place = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${place}/${PLURALS[kind] ?? kind}/${encodeURIComponent(name)}`
}

function versionOf(kind: string): string {
  if (kind === 'NetworkPolicy') return 'networking.k8s.io/v1'
  return kind === 'EndpointSlice' ? 'discovery.k8s.io/v1' : 'v1'
}

function revisionOf(body: string): number {
  const object = JSON.parse(body) as { metadata?: { resourceVersion?: string } }
  return Number(object.metadata?.resourceVersion ?? 0)
}
