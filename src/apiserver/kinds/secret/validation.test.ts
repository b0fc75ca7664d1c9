import { expect, test } from 'vitest'
import type { Raw } from '../../../resources/raw.ts'
import { placesOf } from '../../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from '../testing/rules-by-kind.ts'

function places(parts: Raw): readonly string[] {
  const object = { metadata: { name: 'x', namespace: 'shop' }, ...parts }
  return placesOf(validateObject('Secret', applyDefaults('Secret', object)))
}

function text(value: string): string {
  return Buffer.from(value).toString('base64')
}

const ACCOUNT = 'metadata.annotations[orch.io/service-account.name] (absent)'

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
  [{ type: 'orch.io/service-account-token' }, [ACCOUNT]],
  [{ type: 'kubernetes.io/service-account-token' }, [ACCOUNT]],
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

test('bytes are limited to 1 MiB, as they are when decoded', () => {
  const bytes = (size: number): Raw => ({ data: { a: Buffer.alloc(size).toString('base64') } })
  expect(places(bytes(1 << 20))).toEqual([])
  expect(places(bytes((1 << 20) + 1))).toEqual(['data "(withheld)"'])
})
