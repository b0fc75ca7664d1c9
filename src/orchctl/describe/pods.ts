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
import { type Describer, timeText } from './describer.ts'
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

/** The conditions of a status as a table; undefined: it has none. */
export function conditionsOf(status: JsonObject): Cell | undefined {
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

/** The containers and volumes of a Pod, or of a Pod template. */
export function templateRows(spec: JsonObject, status: JsonObject = {}): readonly Row[] {
  const lists = [
    ['Init Containers', 'initContainers', 'initContainerStatuses'],
    ['Containers', 'containers', 'containerStatuses'],
    ['Ephemeral Containers', 'ephemeralContainers', 'ephemeralContainerStatuses'],
  ] as const
  const containers = lists.flatMap(([label, field, statuses]): readonly Row[] => {
    const all = arrayAt(spec, field)
    const rows = all.map((one): Row => {
      const state = arrayAt(status, statuses).find(
        (other) => stringAt(other, 'name') === stringAt(one, 'name'),
      )
      return [stringAt(one, 'name'), { rows: containerRows(one, state) }]
    })
    return all.length === 0 ? [] : [[label, { rows }]]
  })
  return [...containers, ['Volumes', { rows: arrayAt(spec, 'volumes').map(volumeRow) }]]
}

function containerRows(container: Json, state: Json | undefined): readonly Row[] {
  const ports = arrayAt(container, 'ports')
  const port = (field: string) => (one: Json) =>
    `${scalarText(valueAt(one, field)) || '0'}/${stringAt(one, 'protocol')}`
  const several = ports.length > 1 ? 's' : ''
  const text = (field: string): string | undefined => optional(valueAt(state, field))
  return [
    ['Container ID', text('containerID')],
    ['Image', stringAt(container, 'image')],
    ['Image ID', text('imageID')],
    [`Port${several}`, orElse(ports.map(port('containerPort')).join(', '), '<none>')],
    [`Host Port${several}`, orElse(ports.map(port('hostPort')).join(', '), '<none>')],
    ...['command', 'args'].map((field): Row => {
      const words = arrayAt(container, field).map(scalarText)
      const label = field === 'args' ? 'Args' : 'Command'
      return [
        label,
        words.length === 0 ? undefined : { lines: words.flatMap((one) => one.split('\n')) },
      ]
    }),
    ...stateRows('State', valueAt(state, 'state')),
    ...stateRows('Last State', valueAt(state, 'lastState')),
    [
      'Ready',
      state === undefined ? undefined : valueAt(state, 'ready') === true ? 'True' : 'False',
    ],
    ['Restart Count', text('restartCount')],
    ...['limits', 'requests'].map((field): Row => {
      const amounts = Object.entries(objectAt(container, 'resources', field))
      const rows = amounts.map(([name, amount]): Row => [name, scalarText(amount)])
      return [field === 'limits' ? 'Limits' : 'Requests', rows.length === 0 ? undefined : { rows }]
    }),
    ['Liveness', probeText(valueAt(container, 'livenessProbe'))],
    ['Readiness', probeText(valueAt(container, 'readinessProbe'))],
    ['Startup', probeText(valueAt(container, 'startupProbe'))],
    ['Environment Variables from', sourcesOf(arrayAt(container, 'envFrom'))],
    ['Environment', { rows: arrayAt(container, 'env').map(variableRow) }],
    ['Mounts', mountsOf(arrayAt(container, 'volumeMounts'))],
  ]
}

const TIMES: readonly (readonly [field: string, label: string])[] = [
  ['startedAt', 'Started'],
  ['finishedAt', 'Finished'],
]

/** The state of a container with its details; no rows if it has not had that state. */
function stateRows(label: string, state: Json | undefined): readonly Row[] {
  const [entry] = Object.entries(isJsonObject(state) ? state : {})
  if (entry === undefined) return []
  const [kind, details] = entry
  const rows: readonly Row[] = [
    ['Reason', optional(valueAt(details, 'reason'))],
    ['Message', optional(valueAt(details, 'message'))],
    ['Exit Code', kind === 'terminated' ? scalarText(valueAt(details, 'exitCode')) : undefined],
    ['Signal', optional(valueAt(details, 'signal'))],
    ...TIMES.map(([field, name]): Row => [name, timeText(stringAt(details, field))]),
  ]
  const title = `${kind[0]?.toUpperCase() ?? ''}${kind.slice(1)}`
  return [[label, title], ...rows.map(([name, cell]): Row => [`  ${name}`, cell])]
}

const DEFAULTS = { initialDelaySeconds: 0, timeoutSeconds: 1, periodSeconds: 10 }
const TRIES = { successThreshold: 1, failureThreshold: 3 }

function probeText(probe: Json | undefined): string | undefined {
  if (!isJsonObject(probe)) return undefined
  const number = (field: string, otherwise: number): string =>
    scalarText(valueAt(probe, field) ?? otherwise)
  const [delay, timeout, period] = Object.entries(DEFAULTS).map(([field, usual]) =>
    number(field, usual),
  )
  const [success, failure] = Object.entries(TRIES).map(([field, usual]) => number(field, usual))
  return `${handlerText(probe)} delay=${delay}s timeout=${timeout}s period=${period}s #success=${success} #failure=${failure}`
}

function handlerText(probe: JsonObject): string {
  const { exec, httpGet, tcpSocket, grpc } = probe
  if (exec !== undefined) return `exec [${arrayAt(exec, 'command').map(scalarText).join(' ')}]`
  const place = (action: Json | undefined): string =>
    `${stringAt(action, 'host')}:${scalarText(valueAt(action, 'port'))}`
  if (tcpSocket !== undefined) return `tcp-socket ${place(tcpSocket)}`
  if (grpc !== undefined)
    return `grpc <pod>:${scalarText(valueAt(grpc, 'port'))} ${stringAt(grpc, 'service')}`
  if (httpGet === undefined) return 'unknown'
  const scheme = orElse(stringAt(httpGet, 'scheme').toLowerCase(), 'http')
  return `http-get ${scheme}://${place(httpGet)}${stringAt(httpGet, 'path')}`
}

function sourcesOf(sources: readonly Json[]): Cell | undefined {
  if (sources.length === 0) return undefined
  const lines = sources.map((source) => {
    const [kind, reference] =
      valueAt(source, 'secretRef') === undefined
        ? ['ConfigMap', objectAt(source, 'configMapRef')]
        : ['Secret', objectAt(source, 'secretRef')]
    const prefix = stringAt(source, 'prefix')
    const text = `${stringAt(reference, 'name')}  ${kind}${prefix === '' ? '' : ` with prefix '${prefix}'`}`
    return `${text}  Optional: ${valueAt(reference, 'optional') === true}`
  })
  return { lines }
}

function variableRow(variable: Json): Row {
  const source = objectAt(variable, 'valueFrom')
  return [stringAt(variable, 'name'), sourceText(source) ?? scalarText(valueAt(variable, 'value'))]
}

/** Where the value of a variable comes from; undefined: the variable has a literal value. */
function sourceText(source: JsonObject): string | undefined {
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = source
  if (fieldRef !== undefined) {
    return `(${orElse(stringAt(fieldRef, 'apiVersion'), 'v1')}:${stringAt(fieldRef, 'fieldPath')})`
  }
  if (resourceFieldRef !== undefined) return `(${stringAt(resourceFieldRef, 'resource')})`
  const keyed = [
    [secretKeyRef, 'in secret'],
    [configMapKeyRef, 'of config map'],
  ] as const
  for (const [reference, where] of keyed) {
    if (reference === undefined) continue
    const isOptional = valueAt(reference, 'optional') === true
    const key = `<set to the key '${stringAt(reference, 'key')}' ${where} '${stringAt(reference, 'name')}'>`
    return `${key}  Optional: ${isOptional}`
  }
  return undefined
}

function mountsOf(mounts: readonly Json[]): Cell {
  if (mounts.length === 0) return []
  const lines = mounts.map((mount) => {
    const path = stringAt(mount, 'subPath')
    const access = valueAt(mount, 'readOnly') === true ? 'ro' : 'rw'
    const flags = `${access}${path === '' ? '' : `,path="${path}"`}`
    return `${stringAt(mount, 'mountPath')} from ${stringAt(mount, 'name')} (${flags})`
  })
  return { lines: lines.toSorted() }
}

function volumeRow(volume: Json): Row {
  const [entry] = Object.entries(isJsonObject(volume) ? volume : {}).filter(
    ([key]) => key !== 'name',
  )
  const [kind = '', source = {}] = entry ?? []
  const rows = VOLUMES[kind]?.(source) ?? otherVolume(kind, source)
  return [stringAt(volume, 'name'), { rows }]
}

function optionalRow(source: Json): Row {
  return ['Optional', String(valueAt(source, 'optional') === true)]
}

/** The rows of a volume by the field that says what it is, in kubectl's words. */
const VOLUMES: Readonly<Record<string, (source: Json) => readonly Row[]>> = {
  configMap: (source) => [
    ['Type', 'ConfigMap (a volume populated by a ConfigMap)'],
    ['Name', stringAt(source, 'name')],
    optionalRow(source),
  ],
  secret: (source) => [
    ['Type', 'Secret (a volume populated by a Secret)'],
    ['SecretName', stringAt(source, 'secretName')],
    optionalRow(source),
  ],
  emptyDir: (source) => [
    ['Type', "EmptyDir (a temporary directory that shares a pod's lifetime)"],
    ['Medium', stringAt(source, 'medium')],
    ['SizeLimit', orElse(scalarText(valueAt(source, 'sizeLimit')), '<unset>')],
  ],
  hostPath: (source) => [
    ['Type', 'HostPath (bare host directory volume)'],
    ['Path', stringAt(source, 'path')],
    ['HostPathType', stringAt(source, 'type')],
  ],
  downwardAPI: (source) => [
    ['Type', 'DownwardAPI (a volume populated by information about the pod)'],
    ['Items', { lines: arrayAt(source, 'items').map(itemText) }],
  ],
  projected: (source) => [
    ['Type', 'Projected (a volume that contains injected data from multiple sources)'],
    ...arrayAt(source, 'sources').flatMap(projectionRows),
  ],
}

function itemText(item: Json): string {
  return `${stringAt(item, 'fieldRef', 'fieldPath')} -> ${stringAt(item, 'path')}`
}

function projectionRows(source: Json): readonly Row[] {
  const { secret, configMap, downwardAPI, serviceAccountToken } = isJsonObject(source) ? source : {}
  if (secret !== undefined) return [['SecretName', stringAt(secret, 'name')], optionalRow(secret)]
  if (configMap !== undefined)
    return [['ConfigMapName', stringAt(configMap, 'name')], optionalRow(configMap)]
  if (downwardAPI !== undefined) return [['DownwardAPI', 'true']]
  const seconds = scalarText(valueAt(serviceAccountToken, 'expirationSeconds'))
  return [['TokenExpirationSeconds', seconds]]
}

function otherVolume(kind: string, source: Json): readonly Row[] {
  const fields = Object.entries(isJsonObject(source) ? source : {})
  return [
    ['Type', kind],
    ...fields.map(
      ([key, value]): Row => [
        key,
        typeof value === 'object' ? JSON.stringify(value) : scalarText(value),
      ],
    ),
  ]
}
