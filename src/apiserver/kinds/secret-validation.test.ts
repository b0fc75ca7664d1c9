import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject, validateUpdate } from './testing/rules-by-kind.ts'

function places(parts: Raw): readonly string[] {
  const object = { metadata: { name: 'x', namespace: 'shop' }, ...parts }
  return placesOf(validateObject('Secret', applyDefaults('Secret', object)))
}

function text(value: string): string {
  return Buffer.from(value).toString('base64')
}

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ type: 'example.com/mine', data: { a: 'YQ==' } }, []],
  [{ type: 7 }, ['type 7']],
  [{ data: { password: 'hunter2!' } }, ['data[password] "(withheld)"']],
  [{ data: 'hunter2' }, ['data "(withheld)"']],
  [{ type: 'orch.io/tls', data: 'hunter2' }, ['data "(withheld)"']],
  [{ stringData: { a: 7 } }, ['stringData[a] "(withheld)"']],
  [{ type: 'orch.io/registryconfigjson' }, ['data[.registryconfigjson] (absent)']],
  [
    { type: 'orch.io/registryconfigjson', data: { '.registryconfigjson': text('hunter2') } },
    ['data[.registryconfigjson] "(withheld)"'],
  ],
  [{ type: 'orch.io/registryconfigjson', stringData: { '.registryconfigjson': '{}' } }, []],
  [{ type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': '{}' } }, []],
  [{ type: 'kubernetes.io/dockercfg' }, ['data[.dockercfg] (absent)']],
  [{ type: 'kubernetes.io/tls', data: { 'tls.crt': 'YQ==' } }, ['data[tls.key] (absent)']],
  [{ type: 'orch.io/tls', stringData: { 'tls.crt': 'x', 'tls.key': '' } }, []],
  [{ type: 'kubernetes.io/ssh-auth' }, ['data[ssh-privatekey] (absent)']],
  [{ type: 'kubernetes.io/basic-auth' }, ['data[username] (absent)', 'data[password] (absent)']],
  [{ type: 'kubernetes.io/basic-auth', stringData: { password: 'x' } }, []],
  [
    { type: 'orch.io/service-account-token' },
    ['metadata.annotations[orch.io/service-account.name] (absent)'],
  ],
  [
    { type: 'kubernetes.io/service-account-token' },
    ['metadata.annotations[kubernetes.io/service-account.name] (absent)'],
  ],
])('%j: %j', (parts, expected) => {
  expect(places(parts)).toEqual(expected)
})

test.each(['orch.io', 'kubernetes.io'])('a token names its account under %s', (brand) => {
  const annotations = { [`${brand}/service-account.name`]: 'builder' }
  const metadata = { name: 'x', namespace: 'shop', annotations }
  for (const one of ['orch.io', 'kubernetes.io']) {
    expect(places({ metadata, type: `${one}/service-account-token` })).toEqual([])
  }
})

test.each([
  [{ 'orch.io': '' }, ['orch.io ""']],
  [{ 'kubernetes.io': '../x' }, ['kubernetes.io "../x"']],
  [{ 'orch.io': 'a', 'kubernetes.io': 'a' }, []],
  [{ 'orch.io': 'a', 'kubernetes.io': 'b' }, ['kubernetes.io "b"']],
  [{ 'orch.io': '', 'kubernetes.io': 'b' }, ['orch.io ""', 'kubernetes.io "b"']],
])('a token of the accounts %j: %j', (accounts, expected) => {
  const annotations = Object.fromEntries(
    Object.entries(accounts).map(([brand, name]) => [`${brand}/service-account.name`, name]),
  )
  const metadata = { name: 'x', namespace: 'shop', annotations }
  const found = expected.map((one) => {
    const [brand, value] = one.split(' ')
    return `metadata.annotations[${brand}/service-account.name] ${value}`
  })
  for (const one of ['orch.io', 'kubernetes.io']) {
    expect(places({ metadata, type: `${one}/service-account-token` })).toEqual(found)
  }
  expect(places({ metadata, type: 'Opaque' })).toEqual([])
})

test.each([
  ['Opaque', 'kubernetes.io/service-account-token'],
  ['orch.io/service-account-token', 'kubernetes.io/service-account-token'],
  ['kubernetes.io/service-account-token', 'Opaque'],
  ['orch.io/tls', 'kubernetes.io/tls'],
])('a Secret of type %s never becomes one of type %s', (before, after) => {
  expect(placesOf(validateUpdate('Secret', { type: after }, { type: before }))).toEqual([
    `type ${JSON.stringify(after)}`,
  ])
})

test('bytes are limited to 1 MiB, as they are when decoded', () => {
  const bytes = (size: number): Raw => ({ data: { a: Buffer.alloc(size).toString('base64') } })
  expect(places(bytes(1 << 20))).toEqual([])
  expect(places(bytes((1 << 20) + 1))).toEqual(['data "(withheld)"'])
})
