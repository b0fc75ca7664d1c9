import { expect, test } from 'vitest'
import { BufferPool, ReadBuffer } from './read-buffer.ts'

const LARGE = 1 << 16

test('a socket that fills its buffer gets a large one, until a read leaves space in it', () => {
  const buffer = new ReadBuffer(new BufferPool(LARGE, 1))
  const own = buffer.current
  buffer.fit(100)
  expect(buffer.current).toBe(own)
  buffer.fit(own.length)
  expect(buffer.current.length).toBe(LARGE)
  buffer.fit(LARGE)
  buffer.fit(own.length)
  expect(buffer.current.length).toBe(LARGE)
  buffer.fit(own.length - 1)
  expect(buffer.current).toBe(own)
})

test('large buffers are few, and go from one to the other', () => {
  const pool = new BufferPool(LARGE, 1)
  const [one, other] = [new ReadBuffer(pool), new ReadBuffer(pool)]
  one.fit(one.current.length)
  const large = one.current
  other.fit(other.current.length)
  expect(other.current.length).toBeLessThan(LARGE)
  one.release()
  one.release()
  other.fit(other.current.length)
  expect(other.current).toBe(large)
})
