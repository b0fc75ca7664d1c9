import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type EtcdProcess, startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../../test/support/etcd/has-etcd.ts'
import { put, write } from '../testing/conformance-steps.ts'
import { createEtcdStore } from './etcd-store.ts'
import { beginningAt } from './testing/fixtures.ts'

/** Until a store whose server was started again is connected. */
const WAITING = { timeout: 90_000 }

describe.runIf(hasEtcd())('an etcd that demands certificates', () => {
  const folder = mkdtempSync(join(tmpdir(), 'np-etcd-tls-'))
  const file = (name: string): string => join(folder, name)
  const pem = (name: string): Buffer => readFileSync(file(name))
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
  }
  const certificate = (name: string, extensions: string): void => {
    writeFileSync(file(`${name}.ext`), extensions)
    const request = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    openssl(
      'req',
      ...request,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      `/CN=${name}`,
    )
    const signer = name === 'ca' ? ['-signkey', 'ca.key'] : ['-CA', 'ca.crt', '-CAkey', 'ca.key']
    const serial = name === 'ca' ? [] : ['-CAcreateserial']
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...signer,
      ...serial,
      '-days',
      '2',
      '-out',
      `${name}.crt`,
      '-extfile',
      `${name}.ext`,
    )
  }
  let etcd: EtcdProcess
  beforeAll(async () => {
    certificate('ca', 'basicConstraints=critical,CA:TRUE')
    certificate('other', 'basicConstraints=critical,CA:TRUE')
    certificate('server', 'subjectAltName=IP:127.0.0.1')
    certificate('client', 'extendedKeyUsage=clientAuth')
    const tls = { ca: file('ca.crt'), cert: file('server.crt'), key: file('server.key') }
    etcd = await startEtcd({ tls })
  })
  afterAll(async () => {
    await etcd[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  const clientTls = () => ({ ca: pem('ca.crt'), cert: pem('client.crt'), key: pem('client.key') })

  test('is used with a certificate of its authority', async () => {
    const store = createEtcdStore({ endpoints: [etcd.endpoint], tls: clientTls() })
    const revision = await write(store, put('/a', '1'))
    expect((await store.get('/a'))?.modRevision).toBe(revision)
    await store.close()
  })

  const withoutIdentity = () => ({ ca: pem('ca.crt') })
  const withoutTrust = () => ({ ...clientTls(), ca: pem('other.crt') })
  test.concurrent.each([
    ['without a certificate', '127.0.0.1', withoutIdentity, '--etcd-certfile'],
    ['without trusting its authority', '127.0.0.1', withoutTrust, '--etcd-cafile'],
    ['at an address that its certificate does not name', '127.0.0.2', clientTls, '--etcd-servers'],
    ['under a name that its certificate does not name', 'localhost', clientTls, '--etcd-servers'],
  ])('is not used %s, which is said at once', async (_, host, tls, remedy) => {
    const endpoint = etcd.endpoint.replace('127.0.0.1', host)
    const endpoints = [endpoint, endpoint]
    const store = createEtcdStore({ endpoints, tls: tls(), timeoutMs: 60_000 })
    await expect(write(store, put('/a', '2'))).rejects.toMatchObject({
      code: 'NP_STORAGE_ETCD_UNREACHABLE',
      message: expect.stringMatching(/: [^\n]*(certificate|altnames)[^\n]*$/i),
      hint: expect.stringContaining(remedy),
      cause: { code: 'UNAVAILABLE' },
    })
    await store.close()
  })

  test('is used without an endpoint that is not trusted', async () => {
    const untrusted = etcd.endpoint.replace('127.0.0.1', '127.0.0.2')
    const store = createEtcdStore({
      endpoints: [untrusted, etcd.endpoint],
      tls: clientTls(),
      ...beginningAt(0),
    })
    expect(await write(store, put('/a', '2'))).toBeGreaterThan(0)
    await store.close()
  })

  test('is connected with the certificates that are there then', async () => {
    const tls = { ...clientTls(), ca: pem('other.crt') }
    const store = createEtcdStore({ endpoints: [etcd.endpoint], tls, timeoutMs: 500 })
    await expect(store.revision()).rejects.toMatchObject({ code: 'NP_STORAGE_ETCD_UNREACHABLE' })
    store.renewTls(clientTls())
    await vi.waitFor(() => write(store, put('/a', '3')), WAITING)
    store.renewTls({ ...clientTls(), ca: pem('other.crt') })
    await write(store, put('/a', '4'))
    await etcd.kill()
    await etcd.start()
    await vi.waitFor(
      () =>
        expect(store.revision()).rejects.toMatchObject({
          hint: expect.stringContaining('--etcd-cafile'),
        }),
      WAITING,
    )
    await store.close()
  })
})
