import { arrayAt, type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import type { Resource } from '../resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column, wideColumn } from '../table/column.ts'

const ROLE_LABEL = 'node-role.kubernetes.io/'

export const nodes: Resource = {
  plural: 'nodes',
  singular: 'node',
  kind: 'Node',
  shortNames: ['no'],
  categories: [],
  namespaced: false,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: (sent: Json | undefined) => sent },
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: (object) => ({
    'spec.unschedulable': String(valueAt(object, 'spec', 'unschedulable') === true),
  }),
  columns: [
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
  ],
}

function nodeStatus(object: JsonObject): string {
  const ready = arrayAt(object, 'status', 'conditions').find(
    (condition) => stringAt(condition, 'type') === 'Ready',
  )
  const words = { True: 'Ready', False: 'NotReady' }[stringAt(ready, 'status')] ?? 'Unknown'
  const cordoned = valueAt(object, 'spec', 'unschedulable') === true
  return cordoned ? `${words},SchedulingDisabled` : words
}

function roles(object: JsonObject): string {
  const keys = Object.keys(objectAt(object, 'metadata', 'labels'))
  const names = keys.filter((key) => key.startsWith(ROLE_LABEL))
  return names.map((key) => key.slice(ROLE_LABEL.length)).join(',') || '<none>'
}

function address(object: JsonObject, type: string): string {
  const found = arrayAt(object, 'status', 'addresses').find((one) => stringAt(one, 'type') === type)
  return stringAt(found, 'address') || '<none>'
}

function info(object: JsonObject, field: string): string {
  return stringAt(object, 'status', 'nodeInfo', field) || '<unknown>'
}
