import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { isTimestamp } from '../../../resources/timestamp.ts'
import { checkField, checkInteger } from '../shared/checks.ts'

const TEXTS = ['reason', 'message', 'type', 'action', 'reportingComponent', 'reportingInstance']
const TIMES = ['firstTimestamp', 'lastTimestamp', 'eventTime']

/** An Event lives beside what it is about; one about a cluster-scoped object, anywhere. */
export function checkEvent(object: Reader): void {
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
