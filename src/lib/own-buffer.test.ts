import { expect, test } from 'vitest'
import { ownBuffer } from './own-buffer.ts'

test('parts become one buffer that holds on to nothing else', () => {
  const whole = ownBuffer(Buffer.from('ab'), Buffer.from(''), new Uint8Array([99]))
  expect(whole.toString()).toBe('abc')
  expect(whole.buffer.byteLength).toBe(3)
  expect(ownBuffer()).toHaveLength(0)
})
