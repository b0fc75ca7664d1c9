import { expect, test } from 'vitest'
import { eventFrame } from './watch-stream.ts'

test('a line of a watch holds on to nothing else while it is kept', () => {
  const frame = eventFrame('ADDED', Buffer.from('{}'))
  expect(frame.toString()).toBe('{"type":"ADDED","object":{}}\n')
  expect(frame.buffer.byteLength).toBe(frame.length)
})
