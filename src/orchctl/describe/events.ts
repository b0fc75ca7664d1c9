import { shortDuration } from '../../lib/duration.ts'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { listPages } from '../reading/list-pages.ts'
import type { Api } from '../session/api.ts'
import { unreadable } from './describer.ts'
import type { Cell } from './rows.ts'

const LIMIT = 500

/** The events about an object, the newest last. `now` in milliseconds since the epoch. */
export async function eventsCell(api: Api, object: JsonObject, now: number): Promise<Cell> {
  const [name = '', namespace = '', uid = ''] = ['name', 'namespace', 'uid'].map((key) => {
    return stringAt(object, 'metadata', key)
  })
  const kind = stringAt(object, 'kind')
  // Kubelets report events about Nodes with their name as UID.
  const hasUid = uid !== '' && kind !== 'Node'
  const selector = [
    `involvedObject.name=${name}`,
    ...(namespace === '' ? [] : [`involvedObject.namespace=${namespace}`]),
    `involvedObject.kind=${kind}`,
    ...(hasUid ? [`involvedObject.uid=${uid}`] : []),
  ]
  const inside = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const call = { path: `/api/v1${inside}/events`, query: { fieldSelector: selector.join(',') } }
  const answer = await listPages(api, call, LIMIT)
  if (!answer.ok) return unreadable(answer.failure.reason)
  const events = answer.pages.flatMap((page) => (page['items'] as Json[] | undefined) ?? [])
  const sorted = events.filter(isJsonObject).sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))
  const rows = sorted.map((event) => [
    ...[stringAt(event, 'type'), stringAt(event, 'reason'), ageOf(event, now)],
    stringAt(event, 'source', 'component') || stringAt(event, 'reportingComponent'),
    stringAt(event, 'message').trim(),
  ])
  return { table: [['Type', 'Reason', 'Age', 'From', 'Message'], ...rows] }
}

function timeOf(event: JsonObject): string {
  return (
    stringAt(event, 'series', 'lastObservedTime') ||
    stringAt(event, 'lastTimestamp') ||
    stringAt(event, 'eventTime') ||
    stringAt(event, 'metadata', 'creationTimestamp')
  )
}

/** `5m`, `5m (x3 over 2h)`. */
function ageOf(event: JsonObject, now: number): string {
  const since = (text: string): string => {
    const time = Date.parse(text)
    return Number.isNaN(time) ? '<unknown>' : shortDuration((now - time) / 1_000)
  }
  const last = since(timeOf(event))
  const count = Number(
    scalarText(valueAt(event, 'series', 'count') ?? valueAt(event, 'count') ?? 1),
  )
  const first = stringAt(event, 'firstTimestamp') || stringAt(event, 'eventTime')
  return count > 1 ? `${last} (x${count} over ${since(first)})` : last
}
