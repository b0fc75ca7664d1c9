import { stringAt } from '../../../lib/json.ts'
import type { Resource } from '../../resource/resource.ts'
import { aliasVersions } from '../shared/alias-versions.ts'
import { columns } from './columns.ts'
import { eventFromEventsV1, eventToEventsV1 } from './events-v1.ts'
import { eventExpiry } from './expiry.ts'
import { checkEvent } from './validation.ts'

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
