import { nodeWrite } from '../../../auth/node/node-writes.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { READY } from '../../../resources/label-names.ts'
import { readNode } from '../../../resources/node.ts'
import type { Raw, Reader } from '../../../resources/reader.ts'
import { readCondition } from '../../../resources/status-condition.ts'
import { ageColumn, type Column, column, nameColumn, wideColumn } from '../../resource/column.ts'
import type { Resource } from '../../resource/resource.ts'
import {
  checkItemCount,
  checkOneOf,
  checkTaintKey,
  checkTaintValue,
  nodeRule,
  TAINT_EFFECTS,
  writeQuantities,
} from '../shared/checks.ts'
import { changePresent } from '../shared/edit.ts'

const ROLE_LABEL = 'node-role.kubernetes.io/'

const ONE_ROLE = 'kubernetes.io/role'

const columns: readonly Column[] = [
  nameColumn,
  column('Status', 'Whether pods run and may be placed there.', nodeStatus),
  column('Roles', 'Roles by label.', roles),
  ageColumn,
  column('Version', 'Version of the node agent.', (object) =>
    stringAt(object, 'status', 'nodeInfo', 'kubeletVersion'),
  ),
  wideColumn('Internal-IP', 'Address inside the cluster.', (object) =>
    address(object, 'InternalIP'),
  ),
  wideColumn('External-IP', 'Address outside.', (object) => address(object, 'ExternalIP')),
  wideColumn('OS-Image', 'Operating system.', (object) => info(object, 'osImage')),
  wideColumn('Kernel-Version', 'Kernel.', (object) => info(object, 'kernelVersion')),
  wideColumn('Container-Runtime', 'Runtime of its containers.', (object) =>
    info(object, 'containerRuntimeVersion'),
  ),
]

const ADDRESS_TYPES = ['Hostname', 'InternalIP', 'ExternalIP', 'InternalDNS', 'ExternalDNS']

/** The column Status, by the status of the condition Ready; empty: the Node has no such condition. */
const READINESS: ReadonlyMap<string, string> = new Map([
  ['True', 'Ready'],
  ['', 'Unknown'],
])

export const nodes: Resource = {
  plural: 'nodes',
  singular: 'node',
  kind: 'Node',
  shortNames: ['no'],
  namespaced: false,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: (sent: Json | undefined) => sent },
  proxied: { name: 'proxy', kind: 'NodeProxyOptions' },
  fields: (object) => ({
    'spec.unschedulable': String(valueAt(object, 'spec', 'unschedulable') === true),
  }),
  columns,
  checkWriter: nodeRule(nodeWrite, 'nodes', ''),
  validate: checkNode,
  validateUpdate: 'none',
  defaults: defaultNode,
}

function defaultNode(node: Raw): Raw {
  return changePresent(node, 'status', (status) =>
    writeQuantities(status, ['capacity', 'allocatable']),
  )
}

/** The rules for a Node. */
function checkNode(object: Reader): void {
  readNode(object)
  const spec = object.object('spec')
  checkItemCount(spec, 'podCIDRs', 2)
  checkTaints(spec)
  for (const address of object.object('status').objects('addresses')) {
    checkOneOf(address, 'type', ADDRESS_TYPES)
  }
}

/** Each taint has a key and an effect, and no other one of the same key has that effect. */
function checkTaints(spec: Reader): void {
  const seen = new Set<string>()
  for (const taint of spec.objects('taints')) {
    const [key, effect] = [taint.value('key'), taint.value('effect')]
    if (typeof key !== 'string') taint.refuse('key', 'must be the name of the taint')
    checkTaintKey(taint)
    checkTaintValue(taint)
    if (effect === undefined) taint.refuse('effect', 'must be the effect of the taint')
    checkOneOf(taint, 'effect', TAINT_EFFECTS)
    const id = JSON.stringify([key, effect])
    if (seen.has(id)) {
      taint.refuse('effect', { isDuplicate: true, other: 'those of the same key before it' })
    }
    seen.add(id)
  }
}

/** The column of kubectl: a Node without the condition Ready is Unknown, one whose condition is Unknown is NotReady. */
function nodeStatus(object: JsonObject): string {
  const { status } = readCondition(objectAt(object, 'status'), READY)
  const word = READINESS.get(status) ?? 'NotReady'
  const cordoned = valueAt(object, 'spec', 'unschedulable') === true
  return cordoned ? `${word},SchedulingDisabled` : word
}

/** The roles of a Node: those in label keys, and the value of one other label. */
function roles(object: JsonObject): string {
  const labels = objectAt(object, 'metadata', 'labels')
  const keys = Object.keys(labels).filter((key) => key.startsWith(ROLE_LABEL))
  const names = [...keys.map((key) => key.slice(ROLE_LABEL.length)), stringAt(labels, ONE_ROLE)]
  const known = new Set(names.filter((name) => name !== ''))
  return [...known].toSorted().join(',') || '<none>'
}

function address(object: JsonObject, type: string): string {
  const found = arrayAt(object, 'status', 'addresses').find((one) => stringAt(one, 'type') === type)
  return stringAt(found, 'address') || '<none>'
}

function info(object: JsonObject, field: string): string {
  return stringAt(object, 'status', 'nodeInfo', field) || '<unknown>'
}
