import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeAttribute } from './attribute.ts'
import { decodeKernelError } from './kernel-error.ts'
import { NLMSG_DONE, NLMSG_ERROR } from './message.ts'

const CAPPED = 0x100
const WITH_ATTRIBUTES = 0x200

/** `struct nlmsgerr` about a request of 20 bytes; `repeated` of them follow the header. */
function refusal(errno: number, repeated: number, flags: number, type = NLMSG_ERROR) {
  const header = type === NLMSG_ERROR ? 16 : 0
  const head = Buffer.alloc(4 + header + repeated)
  head.writeInt32LE(-errno)
  if (header > 0) head.writeUInt32LE(20, 4)
  const offset = encodeAttribute(2, Buffer.alloc(4))
  const text = encodeAttribute(1, Buffer.from('Weight out of range\0'))
  const payload = Buffer.concat([head, offset, text])
  return { type, flags, seq: 1, port: 0, payload }
}

test.each([
  ['behind the repeated request', refusal(34, 4, WITH_ATTRIBUTES)],
  ['behind the header of the request', refusal(34, 0, WITH_ATTRIBUTES | CAPPED)],
  ['behind the errno of a dump', refusal(34, 0, WITH_ATTRIBUTES, NLMSG_DONE)],
])('the words of the kernel stand %s', (_, message) => {
  expect(decodeKernelError(message)).toEqual({ errno: 34, text: 'Weight out of range' })
})

test('an error has a text only with the flag, and a message without an errno is no error', () => {
  expect(decodeKernelError(refusal(34, 4, 0))).toEqual({ errno: 34, text: undefined })
  expect(decodeKernelError(refusal(0, 4, WITH_ATTRIBUTES))).toBeUndefined()
})

test('damaged refusals are read without an exception', () => {
  const types = fc.constantFrom(NLMSG_ERROR, NLMSG_DONE)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), types, fc.nat(0x3ff), (bytes, type, flags) => {
      const message = { type, flags, seq: 1, port: 0, payload: Buffer.from(bytes) }
      const decoded = decodeKernelError(message)
      expect(decoded === undefined || Number.isInteger(decoded.errno)).toBe(true)
    }),
    { numRuns: 2000 },
  )
  const huge = Buffer.from('ffffffff00000080'.padEnd(48, '0'), 'hex')
  const message = { type: NLMSG_ERROR, flags: WITH_ATTRIBUTES, seq: 1, port: 0, payload: huge }
  expect(decodeKernelError(message)).toEqual({ errno: 1, text: undefined })
})
