import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { TemporaryFolder } from '../testing/temporary-folder.ts'
import { createTemporaryFolder } from '../testing/temporary-folder.ts'
import { tokenFileCredential } from './credential/token-file.ts'
import { connectionTo, loadConnection, loadInCluster } from './load-connection.ts'

let folder: TemporaryFolder
beforeEach(() => {
  folder = createTemporaryFolder()
})
afterEach(() => folder.remove())

const clock = new FakeClock()
const KUBERNETES = 'var/run/secrets/kubernetes.io/serviceaccount'
const ORCH = 'var/run/secrets/orch.io/serviceaccount'

test('finds the service account of Kubernetes', async () => {
  folder.write(`${KUBERNETES}/token`, 'k8s\n')
  folder.write(`${KUBERNETES}/ca.crt`, 'CA')
  const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '6443' }
  const connection = await loadInCluster({ env, clock, root: folder.path })
  expect(connection.origin).toBe('https://10.96.0.1:6443')
  expect(await connection.credentials.current()).toEqual({ authorization: 'Bearer k8s' })
  expect(await connection.tls?.material()).toMatchObject({ ca: 'CA' })
})

test('prefers the names of the platform, and writes IPv6 as a URL needs it', async () => {
  folder.write(`${KUBERNETES}/token`, 'k8s')
  folder.write(`${ORCH}/token`, 'orch')
  const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', ORCH_SERVICE_HOST: 'fd00::1' }
  const connection = await loadInCluster({ env, clock, root: folder.path })
  expect(connection.origin).toBe('https://[fd00::1]')
  expect(await connection.credentials.current()).toEqual({ authorization: 'Bearer orch' })
})

test.each([
  [{}, /KUBERNETES_SERVICE_HOST is not set/],
  [{ ORCH_SERVICE_HOST: 'h' }, /no token file/],
])('outside a cluster reports what is missing', async (env, message) => {
  const error = await loadInCluster({ env, clock, root: folder.path }).catch((e: unknown) => e)
  expect(error).toMatchObject({
    code: 'NP_CLIENT_NOT_IN_CLUSTER',
    message: expect.stringMatching(message),
  })
})

test('a token file is read again after a minute', async () => {
  const file = folder.write('token', 'one')
  const source = tokenFileCredential(file, clock)
  expect(await source.current()).toEqual({ authorization: 'Bearer one' })
  folder.write('token', 'two')
  await clock.advance(59_000)
  expect(await source.current()).toEqual({ authorization: 'Bearer one' })
  await clock.advance(1_000)
  expect(await source.current()).toEqual({ authorization: 'Bearer two' })
  folder.write('token', 'three')
  clock.elapse(-7_200_000)
  expect(await source.current(), 'after the clock was set back').toEqual({
    authorization: 'Bearer three',
  })
})

test.each(['', 'a\nb', 'ä'])('a token file with %j is refused', async (text) => {
  const source = tokenFileCredential(folder.write('token', text), clock)
  await expect(source.current()).rejects.toMatchObject({ code: 'NP_CLIENT_CREDENTIAL' })
  await expect(source.check?.()).rejects.toMatchObject({ code: 'NP_CLIENT_CREDENTIAL' })
})

test('--master alone is anonymous, in any of its forms', async () => {
  const found = await loadConnection({ kubeconfig: '', master: 'h:8080', env: {}, clock })
  expect(found).toMatchObject({ origin: 'http://h:8080', basePath: '', tls: undefined })
  expect(await found.credentials.current()).toEqual({})
  expect(connectionTo('https://h/p/')).toMatchObject({ origin: 'https://h', basePath: '/p' })
  expect(() => connectionTo('https://h?x=1')).toThrow(
    expect.objectContaining({ code: 'NP_CLIENT_SERVER_URL' }),
  )
})

test('without any hint it looks for a service account', async () => {
  await expect(
    loadConnection({ kubeconfig: undefined, master: '', env: {}, clock }),
  ).rejects.toMatchObject({ code: 'NP_CLIENT_NOT_IN_CLUSTER' })
})
