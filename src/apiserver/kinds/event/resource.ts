import { type JsonObject, stringAt } from '../../../lib/json.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { isTimestamp } from '../../../resources/timestamp.ts'
import type { ExpiryRules } from '../../resource/deletion.ts'
import type { Resource } from '../../resource/resource.ts'
import { aliasVersions } from '../shared/alias-versions.ts'
import { checkField, checkInteger } from '../shared/checks.ts'
import { columns } from './columns.ts'
import { eventFromEventsV1, eventToEventsV1 } from './events-v1.ts'

const TEXTS = ['reason', 'message', 'type', 'action', 'reportingComponent', 'reportingInstance']
const TIMES = ['firstTimestamp', 'lastTimestamp', 'eventTime']

/** The server removes an Event one hour after the last time that its recorder observed it. */
const eventExpiry: ExpiryRules = { lifetimeMs: 3_600_000, lastSeen }

export const events: Resource = {
  plural: 'events',
  singular: 'event',
  kind: 'Event',
  shortNames: ['ev'],
  categories: [],
  namespaced: true,
  versions: [
    { group: '', version: 'v1' },
    ...aliasVersions('events', 'v1').map((version) => ({
      ...version,
      fromStored: eventToEventsV1,
      toStored: eventFromEventsV1,
    })),
  ],
  ownsNothing: true,
  goesWithNamespace: true,
  expiry: eventExpiry,
  createOnUpdate: true,
  updateNeedsVersion: false,
  countsGenerations: false,
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
    source: stringAt(object, 'source', 'component') || stringAt(object, 'reportingComponent'),
    type: stringAt(object, 'type'),
  }),
  columns,
  validate: checkEvent,
  validateUpdate: 'none',
  defaults: 'none',
}

function lastSeen(event: JsonObject): number {
  const texts = [
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
