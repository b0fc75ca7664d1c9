import { setTimeout as delay } from 'node:timers/promises'
import type { Lab } from '../lab/lab.ts'
import type { ApiObject } from '../lab/objects.ts'
import { NODE_NAME } from '../lab/plan.ts'

export const ZONE_LABEL = 'topology.kubernetes.io/zone'

/** The places of Pods: the node under test, or another node of a zone. */
export const PLACES = {
  here: { ip: '10.180.0.1', nodeName: NODE_NAME },
  a: { ip: '10.180.2.1', nodeName: 'node-a' },
  b: { ip: '10.180.2.2', nodeName: 'node-b' },
  alsoB: { ip: '10.180.2.4', nodeName: 'node-b' },
  c: { ip: '10.180.2.3', nodeName: 'node-c' },
} as const

export type PlaceName = keyof typeof PLACES

const PLACE_NAMES = ['here', 'a', 'b', 'alsoB', 'c'] as const

/** Makes nodes in three zones beside the node under test, which is so small that it does not affect shares. */
export async function makeThreeZones(lab: Lab): Promise<void> {
  for (const name of ['a', 'b', 'c']) {
    const labels = { [ZONE_LABEL]: name }
    const metadata = { name: `node-${name}`, labels }
    await lab.api.apply({ apiVersion: 'v1', kind: 'Node', metadata, status: readyWith('4') })
  }
  await patchNode(lab, '/status', { status: readyWith('10m') })
  for (const { ip, nodeName } of Object.values(PLACES)) {
    const local = nodeName === NODE_NAME
    await lab.serve({ ip, local, ports: [{ protocol: 'TCP', port: 80 }] })
  }
}

/** Removes the Pods and all other objects. Pods are removed at once, because there is no kubelet. */
export async function clearZones({ api }: Lab): Promise<void> {
  for (const place of PLACE_NAMES) {
    const path = `/api/v1/namespaces/ns/pods/${podName(place)}`
    await api.request('DELETE', `${path}?gracePeriodSeconds=0`)
  }
  await api.clear()
}

/** Moves the node under test to another zone. */
export function moveTo(lab: Lab, zone: string): Promise<void> {
  return patchNode(lab, '', { metadata: { labels: { [ZONE_LABEL]: zone } } })
}

/** A Pod that Service `web` selects, ready or not. */
export function podAt(place: PlaceName, ready = true): ApiObject {
  const { ip, nodeName } = PLACES[place]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: podName(place), namespace: 'ns', labels: { app: 'web' } },
    // Fields that a server with users would add. A Pod is replaced as a whole, and its spec must not change.
    spec: {
      containers: [{ name: 'c', image: 'none' }],
      nodeName,
      serviceAccountName: 'default',
      automountServiceAccountToken: false,
    },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  }
}

/** Waits for endpoints with a hint for a zone, and returns their places. */
export async function hintedFor({ api }: Lab, zone: string): Promise<readonly PlaceName[]> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const reply = await api.request('GET', '/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices')
    const { items } = JSON.parse(reply.body) as { items: readonly SliceObject[] }
    const hinted = items
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ hints }) => hints?.forZones?.some(({ name }) => name === zone))
    const found = PLACE_NAMES.filter((place) =>
      hinted.some(({ addresses }) => addresses.includes(PLACES[place].ip)),
    )
    if (found.length > 0) return found
    await delay(100)
  }
  throw new Error(`no endpoint is hinted for zone ${zone}`)
}

interface SliceObject {
  readonly endpoints?: readonly {
    readonly addresses: readonly string[]
    readonly hints?: { readonly forZones?: readonly { readonly name: string }[] }
  }[]
}

/** Reasons of the Events about Service `web`, in the order of their creation. */
export async function eventReasons({ api }: Lab): Promise<readonly string[]> {
  const reply = await api.request('GET', '/api/v1/namespaces/ns/events')
  const { items } = JSON.parse(reply.body) as { items: readonly EventObject[] }
  return items
    .filter(({ involvedObject }) => involvedObject.name === 'web')
    .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map(({ reason, message }) => `${reason}: ${message}`)
}

interface EventObject {
  readonly metadata: { readonly resourceVersion: string }
  readonly involvedObject: { readonly name: string }
  readonly reason: string
  readonly message: string
}

function podName(place: PlaceName): string {
  return `pod-${place.toLowerCase()}`
}

function readyWith(cpu: string) {
  return { allocatable: { cpu }, conditions: [{ type: 'Ready', status: 'True' }] }
}

async function patchNode({ api }: Lab, subresource: '' | '/status', patch: object): Promise<void> {
  const path = `/api/v1/nodes/${NODE_NAME}${subresource}`
  const { status, body } = await api.request('PATCH', path, patch)
  if (status >= 300) throw new Error(`PATCH ${path}: ${status} ${body}`)
}
