import { type JsonObject, stringAt } from '../../../lib/json.ts'
import type { ExpiryRules } from '../../resource/deletion.ts'

/** The server removes an Event an hour after the client that recorded it saw it last. */
export const eventExpiry: ExpiryRules = { lifetimeMs: 3_600_000, lastSeen }

function lastSeen(event: JsonObject): number {
  const texts = [
    stringAt(event, 'lastTimestamp'),
    stringAt(event, 'eventTime'),
    stringAt(event, 'metadata', 'creationTimestamp'),
  ]
  const times = texts.map((text) => Date.parse(text)).filter((time) => !Number.isNaN(time))
  return times.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...times)
}
