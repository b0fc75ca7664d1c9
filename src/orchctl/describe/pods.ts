import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { type Describer, timeText } from './describer.ts'
import { templateRows } from './pod-template.ts'
import { type Cell, optional, orElse, pairs, type Row } from './rows.ts'

/** A Pod: where it is, its containers with their states, its volumes. */
export const describePod: Describer = (pod) => {
  const [spec, status] = [objectAt(pod, 'spec'), objectAt(pod, 'status')]
  const host = stringAt(status, 'hostIP')
  const ips = arrayAt(status, 'podIPs').map((one) => stringAt(one, 'ip'))
  return [
    ['Priority', optional(valueAt(spec, 'priority'))],
    ['Priority Class Name', optional(valueAt(spec, 'priorityClassName'))],
    ['Service Account', stringAt(spec, 'serviceAccountName')],
    [
      'Node',
      `${orElse(stringAt(spec, 'nodeName'), '<none>')}${stringAt(spec, 'nodeName') === '' ? '' : `/${host}`}`,
    ],
    ['Start Time', timeText(stringAt(status, 'startTime'))],
    ['Status', statusOf(pod)],
    ['Reason', optional(valueAt(status, 'reason'))],
    ['Message', optional(valueAt(status, 'message'))],
    ['IP', stringAt(status, 'podIP')],
    ['IPs', { rows: ips.map((ip): Row => ['IP', ip]) }],
    ['Controlled By', ownerOf(pod)],
    ...templateRows(spec, status),
    ['Conditions', conditionsOf(status)],
    ...placeRows(spec, stringAt(status, 'qosClass') || qosClassOf(spec)),
  ]
}

/** Where Pods may run. */
export function placeRows(spec: JsonObject, qosClass = ''): readonly Row[] {
  return [
    ['QoS Class', optional(qosClass)],
    ['Node-Selectors', pairs(objectAt(spec, 'nodeSelector'))],
    ['Tolerations', arrayAt(spec, 'tolerations').map(tolerationText)],
  ]
}

/** The QoS class that the API server would set, from the requests and limits of CPU and memory of all containers. */
function qosClassOf(spec: JsonObject): string {
  const containers = [...arrayAt(spec, 'containers'), ...arrayAt(spec, 'initContainers')]
  const amounts = containers.map((one) =>
    ['cpu', 'memory'].map((resource) => {
      const limit = scalarText(valueAt(one, 'resources', 'limits', resource))
      const request = scalarText(valueAt(one, 'resources', 'requests', resource)) || limit
      return { limit, request }
    }),
  )
  const all = amounts.flat()
  if (all.every(({ request }) => request === '')) return 'BestEffort'
  const isFixed = all.every(({ limit, request }) => limit !== '' && request === limit)
  return isFixed ? 'Guaranteed' : 'Burstable'
}

function statusOf(pod: JsonObject): string {
  const since = stringAt(pod, 'metadata', 'deletionTimestamp')
  return since === '' ? stringAt(pod, 'status', 'phase') : `Terminating (since ${since})`
}

function ownerOf(object: JsonObject): string | undefined {
  const owners = arrayAt(object, 'metadata', 'ownerReferences')
  const owner = owners.find((one) => valueAt(one, 'controller') === true)
  if (owner === undefined) return undefined
  return `${stringAt(owner, 'kind')}/${stringAt(owner, 'name')}`
}

function conditionsOf(status: JsonObject): Cell | undefined {
  const rows = arrayAt(status, 'conditions').map((one) =>
    ['type', 'status', 'reason', 'message'].map((field) => stringAt(one, field)),
  )
  if (rows.length === 0) return undefined
  const isExplained = rows.some(([, , reason]) => reason !== '')
  const header = isExplained ? ['Type', 'Status', 'Reason', 'Message'] : ['Type', 'Status']
  return { table: [header, ...rows.map((row) => row.slice(0, header.length))] }
}

/** `key=value:Effect op=Exists for 300s`. */
function tolerationText(toleration: Json): string {
  const [key, value, effect, operator] = ['key', 'value', 'effect', 'operator'].map((field) =>
    stringAt(toleration, field),
  ) as [string, string, string, string]
  const seconds = scalarText(valueAt(toleration, 'tolerationSeconds'))
  const what = `${key}${value === '' ? '' : `=${value}`}${effect === '' ? '' : `:${effect}`}`
  const how = operator === 'Exists' && value === '' ? ' op=Exists' : ''
  return `${what}${how}${seconds === '' ? '' : ` for ${seconds}s`}`.trimStart()
}
