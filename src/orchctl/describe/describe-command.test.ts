import { expect, test } from 'vitest'
import { compareEvents } from './describe-command.ts'

function event(message: string, lastTimestamp: string, resourceVersion: string) {
  return { message, lastTimestamp, metadata: { name: message, resourceVersion } }
}

test('Events of one second are in the order in which they were written', () => {
  const events = [
    event('completed', '2026-11-26T01:00:00Z', '12'),
    event('before', '2026-11-26T00:59:59Z', '13'),
    event('created', '2026-11-26T01:00:00Z', '9'),
    event('of another server', '2026-11-26T01:00:00.500Z', 'a'),
  ]
  const order = events.sort(compareEvents).map(({ message }) => message)
  expect(order).toEqual(['before', 'created', 'completed', 'of another server'])
})
