import { shortDuration } from '../../lib/duration.ts'
import { type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Reader } from '../../resources/reader.ts'
import { isTimestamp } from '../../resources/timestamp.ts'
import { type Column, column, wideColumn } from '../resource/column.ts'
import type { ExpiryRules } from '../resource/lifecycle-rules.ts'
import { aliasVersions, type Resource } from '../resource/resource.ts'
import { checkField, checkInteger } from './shared/checks.ts'

const TEXTS = ['reason', 'message', 'type', 'action', 'reportingComponent', 'reportingInstance']
const TIMES = ['firstTimestamp', 'lastTimestamp', 'eventTime']

/** The server removes an Event one hour after the last time that its recorder observed it. */
const eventExpiry: ExpiryRules = { lifetimeMs: 3_600_000, lastSeen: lastObserved }

/** Columns that read the fields by their names in the core group. */
const coreColumns: readonly Column[] = [
  column('Last Seen', 'Time since it happened last.', lastSeen),
  column('Type', 'Normal or Warning.', (object) => stringAt(object, 'type')),
  column('Reason', 'Why it was recorded.', (object) => stringAt(object, 'reason')),
  column('Object', 'What it is about.', about),
  wideColumn('Source', 'Who recorded it.', recorder),
  column('Message', 'What happened.', (object) => stringAt(object, 'message').trim()),
  wideColumn(
    'Count',
    'How often it happened.',
    (object) => scalarText(valueAt(object, 'series', 'count') ?? valueAt(object, 'count')) || '1',
  ),
  { ...wideColumn('Name', 'Name of the event.', name), format: 'name' },
]

/** Fields of a core Event and their names in `events.k8s.io/v1`; all other fields have the same name in both. */
const RENAMED = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
] as const

const TO_V1: ReadonlyMap<string, string> = new Map(RENAMED)
const FROM_V1: ReadonlyMap<string, string> = new Map(RENAMED.map(([core, v1]) => [v1, core]))

const columns: readonly Column[] = coreColumns.map(ofEitherGroup)

export const events: Resource = {
  plural: 'events',
  singular: 'event',
  kind: 'Event',
  shortNames: ['ev'],
  namespaced: true,
  versions: [
    { group: '', version: 'v1' },
    ...aliasVersions('events', 'v1').map((version) => ({
      ...version,
      fromStored: eventToEventsV1,
      toStored: eventFromEventsV1,
      storedField: fieldFromEventsV1,
    })),
  ],
  ownsNothing: true,
  goesWithNamespace: true,
  expiry: eventExpiry,
  createOnUpdate: true,
  fields: (object) => ({
    'involvedObject.kind': stringAt(object, 'involvedObject', 'kind'),
    'involvedObject.namespace': stringAt(object, 'involvedObject', 'namespace'),
    'involvedObject.name': stringAt(object, 'involvedObject', 'name'),
    'involvedObject.uid': stringAt(object, 'involvedObject', 'uid'),
    'involvedObject.apiVersion': stringAt(object, 'involvedObject', 'apiVersion'),
    'involvedObject.resourceVersion': stringAt(object, 'involvedObject', 'resourceVersion'),
    'involvedObject.fieldPath': stringAt(object, 'involvedObject', 'fieldPath'),
    reason: stringAt(object, 'reason'),
    reportingComponent: stringAt(object, 'reportingComponent'),
    source: recorder(object),
    type: stringAt(object, 'type'),
  }),
  columns,
  validate: checkEvent,
  validateUpdate: 'none',
  defaults: 'none',
}

function lastObserved(event: JsonObject): number {
  const texts = [
    stringAt(event, 'series', 'lastObservedTime'),
    stringAt(event, 'lastTimestamp'),
    stringAt(event, 'eventTime'),
    stringAt(event, 'metadata', 'creationTimestamp'),
  ]
  const times = texts.map((text) => Date.parse(text)).filter((time) => !Number.isNaN(time))
  return times.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...times)
}

/** An Event must be in the namespace of the object that it is about; for a cluster-scoped object, in any namespace. */
function checkEvent(object: Reader): void {
  const metadata = readMetadata(object, { namespaced: true, name: 'subdomain' })
  const about = object.object('involvedObject')
  if (object.value('involvedObject') === undefined) {
    object.refuse('involvedObject', 'must name what the event is about')
  }
  const isOwn = (value: unknown) => value === metadata?.namespace
  checkField(about, 'namespace', isOwn, 'must be the namespace of the event')
  for (const key of TEXTS) object.text(key)
  for (const key of TIMES) {
    checkField(object, key, isTimestamp, 'must be a time such as 2030-01-02T03:04:05Z')
  }
  checkInteger(object, 'count', 0)
}

/** The column for an Event of either group. */
function ofEitherGroup(one: Column): Column {
  return { ...one, cell: (object, now) => one.cell(eventFromEventsV1(object), now) }
}

function name(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name')
}

function about(object: JsonObject): string {
  const kind = stringAt(object, 'involvedObject', 'kind').toLowerCase()
  return `${kind}/${stringAt(object, 'involvedObject', 'name')}`
}

/** The component that recorded an Event; newer recorders name no source. */
function recorder(object: JsonObject): string {
  return stringAt(object, 'source', 'component') || stringAt(object, 'reportingComponent')
}

function lastSeen(object: JsonObject, now: number): string {
  const times = ['lastTimestamp', 'eventTime', 'firstTimestamp'].map((field) =>
    stringAt(object, field),
  )
  const observed = stringAt(object, 'series', 'lastObservedTime')
  const at = Date.parse([observed, ...times].find((time) => time !== '') ?? '')
  return Number.isNaN(at) ? '<unknown>' : shortDuration((now - at) / 1000)
}

/** A stored Event as `events.k8s.io/v1` names its fields. */
function eventToEventsV1(event: JsonObject): JsonObject {
  return renamed(event, TO_V1)
}

/** The inverse: an Event of `events.k8s.io/v1` in stored form. */
function eventFromEventsV1(event: JsonObject): JsonObject {
  return renamed(event, FROM_V1)
}

/** The same for the path of a field, such as `regarding.name`. */
function fieldFromEventsV1(path: string): string {
  const [first = '', ...below] = path.split('.')
  return [FROM_V1.get(first) ?? first, ...below].join('.')
}

function renamed(event: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(
    Object.entries(event).map(([field, value]) => [names.get(field) ?? field, value]),
  )
}
