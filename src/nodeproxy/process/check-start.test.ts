import { expect, test } from 'vitest'
import { connectionTo } from '../../client/connection/load-connection.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { bindMap } from '../../modes/userspace/driver/bind-map.ts'
import { configuration } from '../testing/wiring.ts'
import { checkStart } from './check-start.ts'

const read = bindMap.decode(['127.0.0.1:8080=shop/cart'])
const BINDINGS = read.ok ? read.value : []
const fail = (code: string) => () => Promise.reject(new NodeProxyError(code, 'unusable'))

async function codeOf(values: Record<string, unknown>, netAdmin: boolean) {
  const check = await checkStart(configuration(values), {
    rights: { netAdmin },
    connect: undefined,
  })
  return check.ok ? undefined : check.error.code
}

test.each([
  [{ mode: 'iptables' }],
  [{ mode: '' }],
  [{ mode: 'ipvs' }],
  [{ mode: 'ipvs', 'userspace.bindMap': BINDINGS }],
])('%j needs the right to write rules', async (values) => {
  expect(await codeOf(values, true)).toBeUndefined()
  expect(await codeOf(values, false)).toBe('NP_NODEPROXY_UNPRIVILEGED')
})

test.each([
  [{ mode: 'userspace' }, 'NP_USERSPACE_REDIRECT'],
  [{ mode: 'auto' }, 'NP_USERSPACE_REDIRECT'],
  [{ mode: 'userspace', 'userspace.bindMap': BINDINGS }, undefined],
  [{ mode: 'auto', 'userspace.bindMap': BINDINGS }, undefined],
])('%j without the right: %s', async (values, code) => {
  expect(await codeOf(values, true)).toBeUndefined()
  expect(await codeOf(values, false)).toBe(code)
})

test('userspace mode that may only bind needs addresses, whatever its rights', async () => {
  const values = { mode: 'userspace', 'userspace.entry': 'bind' }
  expect(await codeOf(values, true)).toBe('NP_USERSPACE_BIND_MAP')
  expect(await codeOf({ ...values, 'userspace.bindMap': BINDINGS }, false)).toBeUndefined()
})

const connection = connectionTo('https://127.0.0.1:1')
const { tls, credentials } = connection

test.each([
  ['NP_CLIENT_KUBECONFIG', fail('NP_CLIENT_KUBECONFIG')],
  [
    'NP_CLIENT_CREDENTIAL',
    async () => ({ ...connection, tls: { ...tls!, material: fail('NP_CLIENT_CREDENTIAL') } }),
  ],
  [
    'NP_CLIENT_TOKEN',
    async () => ({
      ...connection,
      credentials: { ...credentials, check: fail('NP_CLIENT_TOKEN') },
    }),
  ],
])('a connection that fails with %s is a wrong configuration', async (code, connect) => {
  const check = await checkStart(configuration(), { rights: { netAdmin: true }, connect })
  expect(check).toMatchObject({ ok: false, error: { code } })
})

test('a good start has its connection, and a bug is none of the configuration', async () => {
  const rights = { netAdmin: true }
  const good = await checkStart(configuration(), { rights, connect: async () => connection })
  expect(good).toEqual({ ok: true, connection })
  const connect = () => Promise.reject(new TypeError('a bug'))
  await expect(checkStart(configuration(), { rights, connect })).rejects.toThrow('a bug')
})
