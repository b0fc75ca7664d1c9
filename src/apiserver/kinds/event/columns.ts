import { shortDuration } from '../../../lib/duration.ts'
import { type JsonObject, scalarText, stringAt, valueAt } from '../../../lib/json.ts'
import { type Column, column, wideColumn } from '../../resource/column.ts'
import { eventFromEventsV1 } from './events-v1.ts'

/** Read the fields by their names in the core group. */
const coreColumns: readonly Column[] = [
  column('Last Seen', 'Time since it happened last.', lastSeen),
  column('Type', 'Normal or Warning.', (object) => stringAt(object, 'type')),
  column('Reason', 'Why it was recorded.', (object) => stringAt(object, 'reason')),
  column('Object', 'What it is about.', about),
  wideColumn('Source', 'Who recorded it.', (object) => stringAt(object, 'source', 'component')),
  column('Message', 'What happened.', (object) => stringAt(object, 'message').trim()),
  wideColumn(
    'Count',
    'How often it happened.',
    (object) => scalarText(valueAt(object, 'count')) || '1',
  ),
  { ...wideColumn('Name', 'Name of the event.', name), format: 'name' },
]

export const columns: readonly Column[] = coreColumns.map(ofEitherGroup)

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

function lastSeen(object: JsonObject, now: number): string {
  const times = ['lastTimestamp', 'eventTime', 'firstTimestamp'].map((field) =>
    stringAt(object, field),
  )
  const at = Date.parse(times.find((time) => time !== '') ?? '')
  return Number.isNaN(at) ? '<unknown>' : shortDuration((now - at) / 1000)
}
