import type { IpAddress } from '../../lib/ip.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'

/** A Pod whose fields are read: a `PodPlan`. */
interface PodFields {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly labels: JsonObject
  readonly annotations: JsonObject
  readonly nodeName: string
  readonly serviceAccountName: string
}

/** The values of a Pod that only its node knows. */
export interface PodLocation {
  readonly podIPs: readonly IpAddress[]
  readonly hostIP: string
}

const FIELDS: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.podIP',
  'status.podIPs',
])
const MAPS: ReadonlySet<string> = new Set(['metadata.labels', 'metadata.annotations'])
const KEYED_FIELD = /^metadata\.(?:labels|annotations)\['[^']+'\]$/

/** Whether a `fieldPath` has one value. */
export function isPlainField(field: string): boolean {
  return FIELDS.has(field) || KEYED_FIELD.test(field)
}

/** Whether a `fieldPath` can be read: those that `isPlainField` takes, all labels and all annotations. */
export function isPodField(field: string): boolean {
  return isPlainField(field) || MAPS.has(field)
}

/** The value of a `fieldRef`. Every field that `isPodField` accepts has one, which may be empty. */
export function fieldValue(field: string, pod: PodFields, { podIPs, hostIP }: PodLocation): string {
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(field) ?? []
  if (map !== undefined) return stringAt(map === 'labels' ? pod.labels : pod.annotations, key)
  const values = new Map<string, string>([
    ['metadata.name', pod.name],
    ['metadata.namespace', pod.namespace],
    ['metadata.uid', pod.uid],
    ['metadata.labels', listed(pod.labels)],
    ['metadata.annotations', listed(pod.annotations)],
    ['spec.nodeName', pod.nodeName],
    ['spec.serviceAccountName', pod.serviceAccountName],
    ['status.hostIP', hostIP],
    ['status.podIP', podIPs[0] ?? ''],
    ['status.podIPs', podIPs.join(',')],
  ])
  return values.get(field) ?? ''
}

/** A line `key="value"` for each entry, by key, as Kubernetes writes them. */
function listed(map: JsonObject): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${JSON.stringify(stringAt(map, key))}`)
    .join('\n')
}
