import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Json } from '../../lib/json.ts'
import { writeYaml, writeYamlItem } from './yaml.ts'

test('it reads as people write it', () => {
  const object = {
    kind: 'Service',
    metadata: { name: 'web', labels: { 'app.io/x': 'yes', n: '1' }, annotations: {} },
    spec: {
      ports: [{ port: 80, name: 'http' }, { port: 81 }],
      externalIPs: ['192.0.2.1', 'a'],
      x: [],
    },
    data: { 'a b': 'two\nlines', none: null, deep: [[1, 2], []] },
  }
  expect(writeYaml(JSON.stringify(object))).toBe(`kind: Service
metadata:
  name: web
  labels:
    app.io/x: "yes"
    "n": "1"
  annotations: {}
spec:
  ports:
  - port: 80
    name: http
  - port: 81
  externalIPs:
  - 192.0.2.1
  - a
  x: []
data:
  a b: |-
    two
    lines
  none: null
  deep:
  - - 1
    - 2
  - []
`)
})

test('what is written is what is read', () => {
  const words = fc.constantFrom(
    'yes',
    'null',
    'True',
    '~',
    '1e3',
    '- a',
    'a: b',
    '#',
    '',
    ' x',
    '.nan',
    '0x1',
  )
  const text = fc.oneof(
    words,
    fc.string({ unit: 'binary' }).map((one) => one.toWellFormed()),
  )
  const { value: any } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      text,
      fc.boolean(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(any, (value) => {
      const json = JSON.stringify(value)
      const item = writeYamlItem(json)
      for (const version of ['1.1', '1.2'] as const) {
        expect(parse(writeYaml(json), { version })).toEqual(JSON.parse(json))
        expect(parse(`x: 1\nitems:\n${item}${item}`, { version })).toEqual({
          x: 1,
          items: [JSON.parse(json), JSON.parse(json)],
        })
      }
    }),
  )
})

test.each([
  ['deep', 400, 100],
  ['long', 1, 20_000],
])('what is %s costs little more than its JSON', (_, depth, length) => {
  let value: Json = Array.from({ length }, () => 'x')
  for (let i = 0; i < depth; i++) value = { a: value }
  const json = JSON.stringify(value)
  expect(writeYaml(json)).toBe(`${json}\n`)
  expect(parse(`items:\n${writeYamlItem(json)}`)).toEqual({ items: [value] })
})
