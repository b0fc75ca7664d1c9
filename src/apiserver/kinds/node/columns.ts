import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../lib/json.ts'
import { READY } from '../../../resources/condition-names.ts'
import { readCondition } from '../../../resources/status-condition.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column, wideColumn } from '../../table/column.ts'

const ROLE_LABEL = 'node-role.kubernetes.io/'

const ONE_ROLE = 'kubernetes.io/role'

export const columns: readonly Column[] = [
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

function nodeStatus(object: JsonObject): string {
  const { status } = readCondition(objectAt(object, 'status'), READY)
  const words = { True: 'Ready', '': 'Unknown' }[status] ?? 'NotReady'
  const cordoned = valueAt(object, 'spec', 'unschedulable') === true
  return cordoned ? `${words},SchedulingDisabled` : words
}

/** Roles that labels name by their key, or by the value of one key. */
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
