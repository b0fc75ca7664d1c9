import { shortDuration } from '../../lib/duration.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { canonicalQuantity, milliQuantity } from '../../resources/quantity.ts'
import { type Describer, type Read, type Related, rfc1123, unreadable } from './describer.ts'
import { byLabel, type Cell, type Row } from './rows.ts'

const ROLE = 'node-role.kubernetes.io/'

/** A Node: its state and resources, its Pods, and its node-proxy. */
export const describeNode: Describer = async (node, related) => {
  const [spec, status] = [objectAt(node, 'spec'), objectAt(node, 'status')]
  const name = stringAt(node, 'metadata', 'name')
  const [pods, leases, proxy] = await Promise.all([
    related.list('pods', '', {
      fieldSelector: `spec.nodeName=${name},status.phase!=Succeeded,status.phase!=Failed`,
    }),
    related.list('leases.coordination.k8s.io', 'kube-node-lease', {
      fieldSelector: `metadata.name=${name}`,
    }),
    related.proxyStatus(node),
  ])
  const labels = Object.keys(objectAt(node, 'metadata', 'labels'))
  const roles = labels.filter((key) => key.startsWith(ROLE)).map((key) => key.slice(ROLE.length))
  const taints = arrayAt(spec, 'taints').map((one) => {
    const [key, value, effect] = ['key', 'value', 'effect'].map((field) => stringAt(one, field))
    return `${key}${value === '' ? '' : `=${value}`}:${effect}`
  })
  const amounts = (field: string): Cell => ({
    rows: Object.entries(objectAt(status, field))
      .map(([name, amount]): Row => [name, scalarText(amount)])
      .toSorted(byLabel),
  })
  return [
    ['Roles', roles.toSorted().join(',') || '<none>'],
    ['CreationTimestamp', rfc1123(stringAt(node, 'metadata', 'creationTimestamp'))],
    ['Taints', taints],
    ['Unschedulable', String(valueAt(spec, 'unschedulable') === true)],
    ['Lease', leaseOf(name, leases)],
    ['Conditions', conditionsOf(status)],
    [
      'Addresses',
      {
        rows: arrayAt(status, 'addresses').map(
          (one): Row => [stringAt(one, 'type'), stringAt(one, 'address')],
        ),
      },
    ],
    ['Capacity', amounts('capacity')],
    ['Allocatable', amounts('allocatable')],
    [
      'System Info',
      { rows: SYSTEM.map(([label, field]) => [label, stringAt(status, 'nodeInfo', field)]) },
    ],
    ['PodCIDR', stringAt(spec, 'podCIDR') || undefined],
    ['PodCIDRs', arrayAt(spec, 'podCIDRs').map(scalarText).join(',') || undefined],
    ['ProviderID', stringAt(spec, 'providerID') || undefined],
    ...podRows(pods, objectAt(status, 'allocatable'), related.now),
    ['Node-Proxy', proxyCell(proxy)],
  ]
}

const SYSTEM = [
  ['Machine ID', 'machineID'],
  ['System UUID', 'systemUUID'],
  ['Boot ID', 'bootID'],
  ['Kernel Version', 'kernelVersion'],
  ['OS Image', 'osImage'],
  ['Operating System', 'operatingSystem'],
  ['Architecture', 'architecture'],
  ['Container Runtime Version', 'containerRuntimeVersion'],
  ['Kubelet Version', 'kubeletVersion'],
  ['Kube-Proxy Version', 'kubeProxyVersion'],
] as const

function leaseOf(name: string, leases: Read): Cell {
  if (!leases.ok) return unreadable(leases.why)
  const [lease] = leases.objects
  if (lease === undefined) {
    return `Failed to get lease: leases.coordination.k8s.io "${name}" not found`
  }
  return {
    rows: [
      ['HolderIdentity', stringAt(lease, 'spec', 'holderIdentity')],
      ['AcquireTime', rfc1123(stringAt(lease, 'spec', 'acquireTime')) || '<unset>'],
      ['RenewTime', rfc1123(stringAt(lease, 'spec', 'renewTime'))],
    ],
  }
}

function conditionsOf(status: JsonObject): Cell {
  const rows = arrayAt(status, 'conditions').map((one) => [
    ...['type', 'status'].map((field) => stringAt(one, field)),
    ...['lastHeartbeatTime', 'lastTransitionTime'].map((field) => rfc1123(stringAt(one, field))),
    ...['reason', 'message'].map((field) => stringAt(one, field)),
  ])
  const header = ['Type', 'Status', 'LastHeartbeatTime', 'LastTransitionTime', 'Reason', 'Message']
  return { table: [header, ...rows] }
}

type Amounts = Readonly<Record<string, number>>

const RESOURCES = ['cpu', 'memory', 'ephemeral-storage']

function podRows(pods: Read, allocatable: JsonObject, now: number): readonly Row[] {
  if (!pods.ok) return [['Non-terminated Pods', unreadable(pods.why)]]
  const all = pods.objects.map((pod) => ({
    pod,
    requests: amountsOf(pod, 'requests'),
    limits: amountsOf(pod, 'limits'),
  }))
  const share = (resource: string, amounts: Amounts): string => {
    const used = amounts[resource] ?? 0
    const whole = milliQuantity(allocatable[resource]) ?? 0
    return `${written(resource, used)} (${whole === 0 ? 0 : Math.trunc((used * 100) / whole)}%)`
  }
  const table = all.map(({ pod, requests, limits }) => {
    const created = Date.parse(stringAt(pod, 'metadata', 'creationTimestamp'))
    return [
      ...['namespace', 'name'].map((field) => stringAt(pod, 'metadata', field)),
      share('cpu', requests),
      share('cpu', limits),
      share('memory', requests),
      share('memory', limits),
      Number.isNaN(created) ? '<unknown>' : shortDuration((now - created) / 1_000),
    ]
  })
  const header = [
    'Namespace',
    'Name',
    'CPU Requests',
    'CPU Limits',
    'Memory Requests',
    'Memory Limits',
    'Age',
  ]
  const sums = RESOURCES.map((resource) => [
    resource,
    share(resource, sumOf(all.map(({ requests }) => requests))),
    share(resource, sumOf(all.map(({ limits }) => limits))),
  ])
  return [
    ['Non-terminated Pods', { behind: `(${all.length} in total)`, table: [header, ...table] }],
    [
      'Allocated resources',
      {
        note: '(Total limits may be over 100 percent, i.e., overcommitted.)',
        table: [['Resource', 'Requests', 'Limits'], ...sums],
      },
    ],
  ]
}

/**
 * What a Pod requests, or its limits, in thousandths of a CPU or of a byte, as Kubernetes counts it. Init containers run
 * one after the other before the containers. Those that restart always (sidecars) go on beside all that start later.
 */
function amountsOf(pod: JsonObject, kind: 'requests' | 'limits'): Amounts {
  const ofContainer = (container: Json): Amounts => amountsIn(valueAt(container, 'resources', kind))
  let together = sumOf(arrayAt(pod, 'spec', 'containers').map(ofContainer))
  let sidecars: Amounts = {}
  let most: Amounts = {}
  for (const container of arrayAt(pod, 'spec', 'initContainers')) {
    const own = ofContainer(container)
    const atOnce = sumOf([sidecars, own])
    most = eachResource((resource) => Math.max(most[resource] ?? 0, atOnce[resource] ?? 0))
    if (stringAt(container, 'restartPolicy') !== 'Always') continue
    sidecars = atOnce
    together = sumOf([together, own])
  }
  const overhead = amountsIn(valueAt(pod, 'spec', 'overhead'))
  return eachResource((resource) => {
    const amount = Math.max(together[resource] ?? 0, most[resource] ?? 0)
    const isUnlimited = kind === 'limits' && amount === 0
    return isUnlimited ? 0 : amount + (overhead[resource] ?? 0)
  })
}

function amountsIn(amounts: Json | undefined): Amounts {
  return eachResource((resource) => milliQuantity(valueAt(amounts, resource)) ?? 0)
}

function eachResource(amount: (resource: string) => number): Amounts {
  return Object.fromEntries(RESOURCES.map((resource) => [resource, amount(resource)]))
}

function sumOf(all: readonly Amounts[]): Amounts {
  return eachResource((resource) => all.reduce((sum, amounts) => sum + (amounts[resource] ?? 0), 0))
}

function written(resource: string, millis: number): string {
  if (resource === 'cpu') return String(canonicalQuantity(`${millis}m`))
  const bytes = Math.ceil(millis / 1_000)
  return String(canonicalQuantity(bytes % 1_024 === 0 ? `${bytes / 1_024}Ki` : String(bytes)))
}

/** What the node-proxy of the node reports about itself. */
function proxyCell(status: Awaited<ReturnType<Related['proxyStatus']>>): Cell {
  if (!status.ok) return unreadable(status.why)
  const { body } = status
  const text = (field: string): string => scalarText(valueAt(body, field)) || '0'
  const texts = (field: string): readonly string[] => arrayAt(body, field).map(scalarText)
  const refusals = arrayAt(body, 'refusals').map(
    (one) => `${stringAt(one, 'object')}: ${stringAt(one, 'message')}`,
  )
  const problems = arrayAt(body, 'problems').map(
    (one) => `${stringAt(one, 'entry')}: ${stringAt(one, 'message')}`,
  )
  return {
    rows: [
      ['Version', stringAt(body, 'version')],
      ['Mode', stringAt(body, 'mode') || '<none>'],
      ['Ready', valueAt(body, 'isReady') === true ? 'True' : 'False'],
      ['Services', text('services')],
      ['Backends', text('backends')],
      ['Not ready because', lines(texts('reasons'))],
      ['Warnings', lines(texts('warnings'))],
      ['Refused by the kernel', lines(refusals)],
      ['Not served whole', lines(problems)],
    ],
  }
}

function lines(texts: readonly string[]): Cell | undefined {
  return texts.length === 0 ? undefined : { lines: texts }
}
