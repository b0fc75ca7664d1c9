import { arrayAt, type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { readCondition } from '../../../resources/status-condition.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column, wideColumn } from '../../table/column.ts'
import { podSummary } from './summary.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('Ready', 'Ready containers of all.', (pod, now) => podSummary(pod, now).ready),
  column('Status', 'What the pod is doing.', (pod, now) => podSummary(pod, now).status),
  column(
    'Restarts',
    'How often its containers were restarted, and when last.',
    (pod, now) => podSummary(pod, now).restarts,
  ),
  ageColumn,
  wideColumn('IP', 'Address of the pod.', (object) => orNone(object, 'status', 'podIP')),
  wideColumn('Node', 'Node that it runs on.', (object) => orNone(object, 'spec', 'nodeName')),
  wideColumn('Nominated Node', 'Node reserved for it.', (object) =>
    orNone(object, 'status', 'nominatedNodeName'),
  ),
  wideColumn('Readiness Gates', 'Extra conditions that hold.', readinessGates),
]

function orNone(object: JsonObject, ...path: readonly string[]): string {
  const text = stringAt(object, ...path)
  return text === '' ? '<none>' : text
}

function readinessGates(object: JsonObject): string {
  const gates = arrayAt(object, 'spec', 'readinessGates')
  if (gates.length === 0) return '<none>'
  const status = objectAt(object, 'status')
  const holding = gates.filter(
    (gate) => readCondition(status, stringAt(gate, 'conditionType')).status === 'True',
  )
  return `${holding.length}/${gates.length}`
}
