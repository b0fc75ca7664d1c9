import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { StatusError } from '../status/status.ts'
import { decodeProtobuf } from './decode-protobuf.ts'
import { recordedBodies } from './testing/recorded-bodies.ts'
import { bytesField, varintField } from './testing/test-encoder.ts'

const SERVICE = { apiVersion: 'v1', kind: 'Service' }

function decode(given: Buffer): Json {
  const outcome = decodeProtobuf(given, SERVICE)
  return outcome instanceof StatusError
    ? `${outcome.status.code} ${outcome.status.message}`
    : outcome
}

/** A body whose object is given field by field. */
function body(...object: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('k8s\0'), bytesField(2, Buffer.concat(object))])
}

/** A body whose object has these bytes, which are no fields of a Service. */
function unknown(...bytes: readonly number[]): Buffer {
  return body(Buffer.from(bytes))
}

test('any cut or changed byte gives an object or 400, never an exception', () => {
  const whole = Buffer.from(recordedBodies['create deployment d --image=i --replicas=0'], 'hex')
  fc.assert(
    fc.property(fc.nat(whole.length), fc.nat(whole.length - 1), fc.nat(255), (end, at, byte) => {
      const changed = Buffer.from(whole)
      changed[at] = byte
      const outcome = decode(changed.subarray(0, end))
      if (typeof outcome === 'string') expect(outcome).toMatch(/^4(?:00|15) /)
    }),
    { numRuns: 2000 },
  )
})

test('unknown fields are skipped, the last of a field counts, messages are merged', () => {
  const name = (text: string): Buffer => bytesField(1, bytesField(1, text))
  const unknown = [varintField(99, 7), bytesField(98, 'x'), Buffer.from([0x9d, 6, 1, 2, 3, 4])]
  const labelled = bytesField(1, bytesField(11, bytesField(1, 'app')))
  expect(decode(body(...unknown, name('a'), labelled, name('b')))).toEqual({
    ...SERVICE,
    metadata: { name: 'b', labels: { app: '' } },
  })
  expect(decode(body(name('a'), name('')))).toEqual({ ...SERVICE, metadata: {} })
})

test('text stays as it is, a byte order mark included', () => {
  const name = '\u{feff}\u{1f9ed} e\u{301}'
  expect(decode(body(bytesField(1, bytesField(1, name))))).toMatchObject({ metadata: { name } })
})

test('integers may come packed', () => {
  const groups = bytesField(2, bytesField(14, bytesField(4, Buffer.from([1, 2, 0x80, 1]))))
  const pod = Buffer.concat([bytesField(1, 'v1'), bytesField(2, 'Pod')])
  const given = Buffer.concat([Buffer.from('k8s\0'), bytesField(1, pod), bytesField(2, groups)])
  expect(decode(given)).toMatchObject({
    spec: { securityContext: { supplementalGroups: [1, 2, 128] } },
  })
})

test.each([
  ['another beginning', Buffer.from('{"a":1}'), 'at byte 0: it does not start with 6b 38 73 00'],
  ['a length beyond the end', body(bytesField(1, Buffer.from([0x0a, 9]))), 'at byte 10: 9 bytes'],
  [
    'a negative length',
    body(Buffer.concat([Buffer.from([0x0a]), Buffer.alloc(9, 0xff), Buffer.from([1])])),
    '-1 bytes',
  ],
  ['invalid UTF-8', body(bytesField(1, bytesField(1, Buffer.from([0xc3])))), 'not valid UTF-8'],
  ['an endless number', body(Buffer.alloc(11, 0xff)), 'more than ten bytes'],
  [
    'an endless number of no known field',
    unknown(0x98, 6, ...Array(11).fill(0xff)),
    'at byte 8: a number',
  ],
  ['a length of 2^32 + 1', unknown(0x9a, 6, 0x81, 0x80, 0x80, 0x80, 0x10, 0), '4294967297 bytes'],
  ['a fixed64 that is cut', unknown(0x99, 6, 1, 2), 'at byte 8: 8 bytes are announced, 2 follow'],
  ['a fixed32 that is cut', unknown(0x9d, 6, 1), '4 bytes are announced, 1 follow'],
  [
    'a number that ends behind its message',
    body(bytesField(1, Buffer.from([0x38, 0x80])), bytesField(1, '')),
    'at byte 10: 1 bytes are announced, 0 follow',
  ],
  ['a field number beyond 29 bits', unknown(0x82, 0x80, 0x80, 0x80, 0x10, 0), 'not a field number'],
  ['too many fields', unknown(...Array(100_002).fill(0x20)), 'too many fields and items'],
  ['a field number of zero', body(Buffer.from([2, 0])), 'not a field number'],
  ['a group', unknown(0x9b, 6, 0x9c, 6), 'wire type 3 is not used by this API'],
  ['an unknown wire type', unknown(0x9f, 6), 'wire type 7 is not used by this API'],
  ['a number for a message', body(varintField(2, 1)), 'spec has wire type 0 instead of 2'],
  [
    'a port beyond 32 bits',
    body(bytesField(2, bytesField(1, varintField(3, 2 ** 31)))),
    'out of range',
  ],
  [
    'a port of 2^32 + 80',
    body(bytesField(2, bytesField(1, varintField(3, 2 ** 32 + 80)))),
    'out of range',
  ],
  [
    'a generation that no number holds',
    body(bytesField(1, varintField(7, 2 ** 60))),
    'at byte 9: the number is out of range',
  ],
  [
    'a time beyond the calendar',
    body(bytesField(1, bytesField(8, varintField(1, 2 ** 40)))),
    'the time is out of range',
  ],
])('%s is 400', (_, given, message) => {
  expect(decode(given)).toMatch(/^400 /)
  expect(decode(given)).toContain(message)
})

test('JSON inside a message is checked like any other', () => {
  const managed = (json: string): Buffer =>
    body(bytesField(1, bytesField(17, bytesField(7, bytesField(1, json)))))
  expect(decode(managed('{"f:spec":{}}'))).toMatchObject({
    metadata: { managedFields: [{ fieldsV1: { 'f:spec': {} } }] },
  })
  expect(decode(managed('{'))).toMatch(/^400 .*not valid JSON/)
  expect(decode(managed('['.repeat(500)))).toMatch(/^400 .*nested deeper/)
})

test('an unknown kind or a compressed object is 415 and names what is accepted', () => {
  const typed = (kind: string, ...rest: Buffer[]): Buffer =>
    Buffer.concat([Buffer.from('k8s\0'), bytesField(1, bytesField(2, kind)), ...rest])
  expect(decode(typed('Widget'))).toMatch(/^415 .*application\/json$/)
  expect(decode(typed('Service', bytesField(3, 'gzip')))).toMatch(/^415 /)
})
