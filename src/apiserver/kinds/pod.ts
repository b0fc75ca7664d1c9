import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import type { Resource } from '../resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column, wideColumn } from '../table/column.ts'
import { podEnvironmentSubresource } from './pod-environment.ts'

export const pods: Resource = {
  plural: 'pods',
  singular: 'pod',
  kind: 'Pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ phase: 'Pending' }) },
  derived: [podEnvironmentSubresource],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: (object) => ({
    'spec.nodeName': stringAt(object, 'spec', 'nodeName'),
    'spec.restartPolicy': stringAt(object, 'spec', 'restartPolicy'),
    'spec.schedulerName': stringAt(object, 'spec', 'schedulerName'),
    'spec.serviceAccountName': stringAt(object, 'spec', 'serviceAccountName'),
    'status.phase': stringAt(object, 'status', 'phase'),
    'status.podIP': stringAt(object, 'status', 'podIP'),
    'status.nominatedNodeName': stringAt(object, 'status', 'nominatedNodeName'),
  }),
  columns: [
    nameColumn,
    column('Ready', 'Ready containers of all.', readyContainers),
    column('Status', 'What the pod is doing.', podStatus),
    column('Restarts', 'How often its containers were restarted.', (object) =>
      String(restarts(object)),
    ),
    ageColumn,
    wideColumn('IP', 'Address of the pod.', (object) => orNone(object, 'status', 'podIP')),
    wideColumn('Node', 'Node that it runs on.', (object) => orNone(object, 'spec', 'nodeName')),
    wideColumn('Nominated Node', 'Node reserved for it.', (object) =>
      orNone(object, 'status', 'nominatedNodeName'),
    ),
    wideColumn('Readiness Gates', 'Extra conditions that hold.', readinessGates),
  ],
}

function orNone(object: JsonObject, ...path: readonly string[]): string {
  const text = stringAt(object, ...path)
  return text === '' ? '<none>' : text
}

function containerStatuses(object: JsonObject): readonly Json[] {
  return arrayAt(object, 'status', 'containerStatuses')
}

function readyContainers(object: JsonObject): string {
  const ready = containerStatuses(object).filter((one) => valueAt(one, 'ready') === true)
  return `${ready.length}/${arrayAt(object, 'spec', 'containers').length}`
}

function restarts(object: JsonObject): number {
  const counts = containerStatuses(object).map((one) => Number(valueAt(one, 'restartCount') ?? 0))
  return counts.reduce((sum, count) => sum + count, 0)
}

function podStatus(object: JsonObject): string {
  if (stringAt(object, 'metadata', 'deletionTimestamp') !== '') return 'Terminating'
  for (const one of containerStatuses(object)) {
    const waiting = stringAt(one, 'state', 'waiting', 'reason')
    if (waiting !== '') return waiting
  }
  return stringAt(object, 'status', 'reason') || stringAt(object, 'status', 'phase') || 'Unknown'
}

function readinessGates(object: JsonObject): string {
  const gates = arrayAt(object, 'spec', 'readinessGates')
  if (gates.length === 0) return '<none>'
  const conditions = arrayAt(object, 'status', 'conditions')
  const holding = gates.filter((gate) =>
    conditions.some(
      (condition) =>
        stringAt(condition, 'type') === stringAt(gate, 'conditionType') &&
        stringAt(condition, 'status') === 'True',
    ),
  )
  return `${holding.length}/${gates.length}`
}
