import { expect, test } from 'vitest'
import { summarisedSecret } from './read-evidence.ts'

test('keeps keys and registries, and no value', () => {
  const config = { auths: { 'registry.example.com': { auth: 'aHVudGVyMg==' } } }
  const base64 = Buffer.from(JSON.stringify(config)).toString('base64')
  const applied = 'kubectl.kubernetes.io/last-applied-configuration'
  const found = summarisedSecret({
    kind: 'Secret',
    type: 'kubernetes.io/dockerconfigjson',
    metadata: { name: 'pull', annotations: { [applied]: base64, a: 'b' } },
    data: { '.dockerconfigjson': base64, empty: '', other: 'aHVudGVyMg==' },
  })
  expect(found['registries']).toEqual(['registry.example.com'])
  expect(found['data']).toEqual({ '.dockerconfigjson': '', other: '' })
  expect(JSON.stringify(found)).not.toMatch(/aHVudGVy|auth/)
})

test('a configuration that cannot be read names no registries', () => {
  const data = { '.dockerconfigjson': 'e30', '.dockercfg': '!!' }
  expect(summarisedSecret({ data })['registries']).toBeUndefined()
})
