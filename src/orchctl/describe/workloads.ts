import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { REVISION } from '../../resources/label-names.ts'
import { selectorText } from '../discovery/pods-of.ts'
import { type Describer, type Related, rfc1123, unreadable } from './describer.ts'
import { placeRows, templateRows } from './pods.ts'
import { pairs, type Row } from './rows.ts'

/** A Deployment: how many Pods it wants and has, and their template. */
export const describeDeployment: Describer = async (deployment, related) => {
  const [spec, status] = [objectAt(deployment, 'spec'), objectAt(deployment, 'status')]
  const count = (field: string): string => scalarText(valueAt(status, field)) || '0'
  const wanted = scalarText(valueAt(spec, 'replicas')) || '1'
  const strategy = stringAt(spec, 'strategy', 'type') || 'RollingUpdate'
  const rolling = (field: string): string =>
    scalarText(valueAt(spec, 'strategy', 'rollingUpdate', field)) || '25%'
  const template = objectAt(spec, 'template')
  const sets = await replicaSetRows(deployment, related)
  return [
    ['CreationTimestamp', rfc1123(stringAt(deployment, 'metadata', 'creationTimestamp'))],
    ['Selector', selectorText(objectAt(spec, 'selector')) || '<none>'],
    [
      'Replicas',
      `${wanted} desired | ${count('updatedReplicas')} updated | ${count('replicas')} total | ${count('availableReplicas')} available | ${count('unavailableReplicas')} unavailable`,
    ],
    ['StrategyType', strategy],
    ['MinReadySeconds', scalarText(valueAt(spec, 'minReadySeconds')) || '0'],
    [
      'RollingUpdateStrategy',
      strategy === 'RollingUpdate'
        ? `${rolling('maxUnavailable')} max unavailable, ${rolling('maxSurge')} max surge`
        : undefined,
    ],
    [
      'Pod Template',
      {
        rows: [
          ['Labels', pairs(objectAt(template, 'metadata', 'labels'))],
          ['Service Account', stringAt(template, 'spec', 'serviceAccountName') || undefined],
          ...templateRows(objectAt(template, 'spec')),
          ...placeRows(objectAt(template, 'spec')),
        ],
      },
    ],
    ['Conditions', conditions(arrayAt(status, 'conditions'))],
    ...sets,
  ]
}

/** The ReplicaSet of its template, and those before it, by their revisions. */
async function replicaSetRows(deployment: JsonObject, related: Related): Promise<readonly Row[]> {
  const namespace = stringAt(deployment, 'metadata', 'namespace')
  const read = await related.list('replicasets.apps', namespace)
  if (!read.ok) return [['NewReplicaSet', unreadable(read.why)]]
  const own = ownedBy(deployment, read.objects)
  const isNew = (set: JsonObject): boolean => revisionOf(set) === revisionOf(deployment)
  const texts = (sets: readonly JsonObject[]): string =>
    sets.map(createdText).join(', ') || '<none>'
  return [
    ['OldReplicaSets', texts(own.filter((one) => !isNew(one)))],
    ['NewReplicaSet', texts(own.filter(isNew))],
  ]
}

/** Those of the objects that an object owns. */
export function ownedBy(owner: JsonObject, objects: readonly JsonObject[]): readonly JsonObject[] {
  const uid = stringAt(owner, 'metadata', 'uid')
  return objects.filter((one) =>
    arrayAt(one, 'metadata', 'ownerReferences').some((other) => stringAt(other, 'uid') === uid),
  )
}

function revisionOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'annotations', REVISION)
}

function createdText(set: JsonObject): string {
  const created = scalarText(valueAt(set, 'status', 'replicas')) || '0'
  const wanted = scalarText(valueAt(set, 'spec', 'replicas')) || '0'
  return `${stringAt(set, 'metadata', 'name')} (${created}/${wanted} replicas created)`
}

function conditions(all: readonly Json[]): Row[1] {
  if (all.length === 0) return undefined
  const rows = all.map((one) => ['type', 'status', 'reason'].map((field) => stringAt(one, field)))
  return { table: [['Type', 'Status', 'Reason'], ...rows] }
}

/** A NetworkPolicy in words: what it lets in and out. */
export const describeNetworkPolicy: Describer = (policy) => {
  const spec = objectAt(policy, 'spec')
  const types = arrayAt(spec, 'policyTypes').map(scalarText)
  const created = stringAt(policy, 'metadata', 'creationTimestamp')
  const selector = selectorText(objectAt(spec, 'podSelector'))
  const pods =
    selector === ''
      ? '<none> (Allowing the specific traffic to all pods in this namespace)'
      : selector
  return [
    ['Created on', created.replace('T', ' ').replace('Z', ' +0000 UTC')],
    [
      'Spec',
      {
        rows: [
          ['PodSelector', pods],
          direction('ingress', types, arrayAt(spec, 'ingress')),
          direction('egress', types, arrayAt(spec, 'egress')),
          ['Policy Types', types.join(', ')],
        ],
      },
    ],
  ]
}

type Direction = 'ingress' | 'egress'

function direction(way: Direction, types: readonly string[], rules: readonly Json[]): Row {
  const label = `Allowing ${way} traffic`
  const type = way === 'ingress' ? 'Ingress' : 'Egress'
  if (!types.includes(type)) return [`Not affecting ${way} traffic`, { lines: [] }]
  if (rules.length === 0) {
    return [label, { lines: [`<none> (Selected pods are isolated for ${way} connectivity)`] }]
  }
  return [label, { rows: rules.flatMap((rule) => ruleRows(way, rule)) }]
}

function ruleRows(way: Direction, rule: Json): readonly Row[] {
  const ports = arrayAt(rule, 'ports').map((port): Row => {
    const number = scalarText(valueAt(port, 'port'))
    const end = scalarText(valueAt(port, 'endPort'))
    return ['To Port', `${number}${end === '' ? '' : `-${end}`}/${stringAt(port, 'protocol')}`]
  })
  const peers = arrayAt(rule, way === 'ingress' ? 'from' : 'to')
  const label = way === 'ingress' ? 'From' : 'To'
  const unrestricted = `<any> (traffic not restricted by ${way === 'ingress' ? 'source' : 'destination'})`
  return [
    ...(ports.length === 0
      ? [['To Port', '<any> (traffic allowed to all ports)'] as const]
      : ports),
    ...(peers.length === 0
      ? [[label, unrestricted] as const]
      : peers.map((peer): Row => [label, { rows: peerRows(peer) }])),
  ]
}

function peerRows(peer: Json): readonly Row[] {
  const { podSelector, namespaceSelector, ipBlock } = isJsonObject(peer) ? peer : {}
  if (ipBlock !== undefined) {
    const except = arrayAt(ipBlock, 'except').map(scalarText)
    const rows: readonly Row[] = [
      ['CIDR', stringAt(ipBlock, 'cidr')],
      ['Except', except.join(', ')],
    ]
    return [['IPBlock', { rows }]]
  }
  return [
    [
      'NamespaceSelector',
      isJsonObject(namespaceSelector) ? selectorText(namespaceSelector) || '<none>' : undefined,
    ],
    ['PodSelector', isJsonObject(podSelector) ? selectorText(podSelector) || '<none>' : undefined],
  ]
}
