import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { type Describer, rfc1123 } from './describer.ts'
import { templateRows } from './pod-template.ts'
import { placeRows } from './pods.ts'
import { pairs, type Row } from './rows.ts'

/** A Deployment: how many Pods it wants and has, and their template. */
export const describeDeployment: Describer = (deployment) => {
  const [spec, status] = [objectAt(deployment, 'spec'), objectAt(deployment, 'status')]
  const count = (field: string): string => scalarText(valueAt(status, field)) || '0'
  const wanted = scalarText(valueAt(spec, 'replicas')) || '1'
  const strategy = stringAt(spec, 'strategy', 'type') || 'RollingUpdate'
  const rolling = (field: string): string =>
    scalarText(valueAt(spec, 'strategy', 'rollingUpdate', field)) || '25%'
  const template = objectAt(spec, 'template')
  return [
    ['CreationTimestamp', rfc1123(stringAt(deployment, 'metadata', 'creationTimestamp'))],
    ['Selector', selectorText(objectAt(spec, 'selector'))],
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
  ]
}

function conditions(all: readonly Json[]): Row[1] {
  if (all.length === 0) return undefined
  const rows = all.map((one) => ['type', 'status', 'reason'].map((field) => stringAt(one, field)))
  return { table: [['Type', 'Status', 'Reason'], ...rows] }
}

/** A label selector as kubectl writes it: `a=b,c in (d,e),!f`. */
export function selectorText(selector: JsonObject): string {
  const labels = pairs(objectAt(selector, 'matchLabels'))
  const expressions = arrayAt(selector, 'matchExpressions').map((one) => {
    const key = stringAt(one, 'key')
    const values = `(${arrayAt(one, 'values').map(scalarText).join(',')})`
    const operator = stringAt(one, 'operator')
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    return `${key} ${operator === 'In' ? 'in' : 'notin'} ${values}`
  })
  return [...labels, ...expressions].join(',') || '<none>'
}
