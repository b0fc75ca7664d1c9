import {
  isJsonObject,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { columns } from '../output/columns.ts'
import { listPages } from '../reading/list-pages.ts'
import type { Api } from '../session/api.ts'

const LIMIT = 500

/** The events about an object, the newest last. */
export async function eventsText(api: Api, object: JsonObject): Promise<string> {
  const [name = '', namespace = '', uid = ''] = ['name', 'namespace', 'uid'].map((key) => {
    return stringAt(object, 'metadata', key)
  })
  const selector = [
    `involvedObject.name=${name}`,
    ...(namespace === '' ? [] : [`involvedObject.namespace=${namespace}`]),
    `involvedObject.kind=${stringAt(object, 'kind')}`,
    ...(uid === '' ? [] : [`involvedObject.uid=${uid}`]),
  ]
  const inside = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const call = { path: `/api/v1${inside}/events`, query: { fieldSelector: selector.join(',') } }
  const answer = await listPages(api, call, LIMIT)
  if (!answer.ok) return `Events:  <they cannot be read: ${answer.failure.reason}>\n`
  const events = answer.pages.flatMap((page) => (page['items'] as Json[] | undefined) ?? [])
  const sorted = events.filter(isJsonObject).sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))
  if (sorted.length === 0) return 'Events:  <none>\n'
  const rows = sorted.map((event) => [
    ...[stringAt(event, 'type'), stringAt(event, 'reason'), timeOf(event)],
    scalarText(valueAt(event, 'series', 'count') ?? valueAt(event, 'count') ?? 1),
    stringAt(event, 'source', 'component') || stringAt(event, 'reportingComponent'),
    stringAt(event, 'message'),
  ])
  const table = columns([['TYPE', 'REASON', 'LAST', 'COUNT', 'FROM', 'MESSAGE'], ...rows])
  return `Events:\n${table.replaceAll(/^/gm, '  ').trimEnd()}\n`
}

function timeOf(event: JsonObject): string {
  return (
    stringAt(event, 'series', 'lastObservedTime') ||
    stringAt(event, 'lastTimestamp') ||
    stringAt(event, 'eventTime') ||
    stringAt(event, 'metadata', 'creationTimestamp')
  )
}
