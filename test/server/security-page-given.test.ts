import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type Issued,
  newTestAuthority,
  type TestAuthority,
} from '../support/certificates/test-authority.ts'
import { type EtcdProcess, startEtcd } from '../support/etcd/etcd-process.ts'
import { hasEtcd } from '../support/etcd/has-etcd.ts'
import { type OidcProvider, startOidcProvider } from '../support/identity/oidc-provider.ts'
import { installedKubectls } from '../support/kubectl/installed.ts'
import {
  byCertificate,
  byToken,
  type OperatedPage,
  operatePage,
  type Proof,
} from '../support/pages/operated-page.ts'
import {
  type AuditWebhook,
  startAuditWebhook,
  webhookKubeconfig,
} from '../support/secrets/audit-webhook.ts'

const ETC = '/etc/orch-server'
/** Files are read every ten seconds. */
const WAITING = { timeout: 90_000, interval: 100 }
/** For what starts programs. */
const SELDOM = { ...WAITING, interval: 1_000 }

let page: OperatedPage
let etcd: EtcdProcess
let provider: OidcProvider
let webhooks: readonly AuditWebhook[]
/** Each of another organization, and the one that follows it. */
let authorities: Readonly<
  Record<'serving' | 'client' | 'etcd', readonly [TestAuthority, TestAuthority]>
>
/** What etcd has. */
let etcdFiles: Readonly<Record<'ca' | 'cert' | 'key', string>>
const held = new AsyncDisposableStack()

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'np-given-'))
  held.defer(() => rm(folder, { recursive: true }))
  authorities = {
    serving: await pairOf('serving'),
    client: await pairOf('client'),
    etcd: await pairOf('etcd'),
  }
  etcdFiles = { ca: join(folder, 'ca'), cert: join(folder, 'cert'), key: join(folder, 'key') }
  await giveToEtcd(authorities.etcd[0].cert, await authorities.etcd[0].server())
  etcd = held.use(await startEtcd({ tls: etcdFiles }))
  provider = held.use(await startOidcProvider())
  webhooks = [held.use(await startAuditWebhook()), held.use(await startAuditWebhook())]
  page = held.use(await open())
})

afterAll(() => held.disposeAsync())

async function pairOf(name: string): Promise<readonly [TestAuthority, TestAuthority]> {
  return [await newTestAuthority(name), await newTestAuthority(`next ${name}`)]
}

async function giveToEtcd(ca: string, { cert, key }: Issued): Promise<void> {
  await writeFile(etcdFiles.ca, ca)
  await writeFile(etcdFiles.cert, cert)
  await writeFile(etcdFiles.key, key)
}

/** With every file that an operator can give, but keys. */
async function open(): Promise<OperatedPage> {
  const serving = await authorities.serving[0].server()
  const known = await authorities.etcd[0].client('orch-server')
  return operatePage({
    page: 'security.md',
    settings: {
      tls: { certFile: `${ETC}/server.crt`, keyFile: `${ETC}/server.key` },
      authentication: {
        clientCAFile: `${ETC}/client-ca.crt`,
        oidc: {
          issuerURL: provider.issuer,
          clientID: 'orch',
          usernameClaim: 'email',
          caFile: `${ETC}/oidc-ca.crt`,
        },
      },
      etcd: {
        servers: [etcd.endpoint],
        caFile: `${ETC}/etcd-ca.crt`,
        certFile: `${ETC}/etcd-client.crt`,
        keyFile: `${ETC}/etcd-client.key`,
      },
      audit: {
        policyFile: '/opt/node-proxy/config/audit-policy.yaml',
        webhookConfigFile: `${ETC}/audit-webhook.kubeconfig`,
      },
    },
    files: {
      'server.crt': serving.cert + authorities.serving[0].cert,
      'server.key': serving.key,
      'client-ca.crt': authorities.client[0].cert,
      'oidc-ca.crt': provider.authority,
      'etcd-ca.crt': authorities.etcd[0].cert,
      'etcd-client.crt': known.cert,
      'etcd-client.key': known.key,
      'audit-webhook.kubeconfig': webhookKubeconfig(webhooks[0]!.url),
    },
  })
}

/** What the server logged since it had written so much. */
async function logged(text: string, since: number): Promise<void> {
  await vi.waitFor(() => expect(page.log().slice(since)).toContain(text), WAITING)
}

async function write(): Promise<void> {
  const said = await page.sh('kubectl create configmap a && kubectl delete configmap a')
  expect(said).toContain('configmap/a created')
}

async function clientOf(authority: TestAuthority, name: string): Promise<Proof> {
  const { cert, key } = await authority.client(name)
  await page.write(`${name}.crt`, cert)
  await page.write(`${name}.key`, key)
  return byCertificate(join(page.etc, `${name}.crt`), join(page.etc, `${name}.key`))
}

async function statusOfUser(): Promise<number> {
  return page.status(byToken(await provider.idToken({ email: 'eve@example.com' })))
}

describe.runIf(hasEtcd() && installedKubectls().length > 0)('docs/operate/security.md', () => {
  test('a given serving certificate is replaced without a restart', async () => {
    const serial = async (): Promise<string> => page.follow('The given serving certificate', 1)
    const [old, pid] = [await serial(), page.server.pid]
    const next = await authorities.serving[1].server()
    await page.write('server.next.crt', next.cert + authorities.serving[1].cert)
    await page.write('server.next.key', next.key)
    expect(await page.follow('The given serving certificate', 0)).toContain('IP Address:127.0.0.1')
    await vi.waitFor(async () => expect(await serial()).not.toBe(old), SELDOM)
    expect(old).toContain('serial=')
    expect(page.server.pid).toBe(pid)
    await vi.waitFor(write, SELDOM)
  })

  test('authorities of clients are accepted side by side, and the old one then refused', async () => {
    const [old, next] = [
      await clientOf(authorities.client[0], 'old'),
      await clientOf(authorities.client[1], 'next'),
    ]
    expect([await page.status(old), await page.status(next)]).toEqual([200, 401])
    await page.write('client-ca.next.crt', authorities.client[1].cert)
    await page.follow('The authorities of clients', 0)
    await vi.waitFor(async () => expect(await page.status(next)).toBe(200), WAITING)
    expect(await page.status(old)).toBe(200)
    await page.follow('The authorities of clients', 1)
    await vi.waitFor(async () => expect(await page.status(old)).toBe(401), WAITING)
    expect(await page.status(next)).toBe(200)
  })

  test('users of the provider are known before and after its certificate is replaced', async () => {
    expect(await statusOfUser()).toBe(200)
    const next = await provider.replaceCertificate()
    await page.sh('cp /etc/orch-server/oidc-ca.crt /etc/orch-server/oidc-ca.kept')
    await page.write('oidc-ca.next.crt', next)
    await page.follow('The authority of the OIDC provider', 0)
    expect(await statusOfUser()).toBe(200)
    await page.follow('The authority of the OIDC provider', 1)
    expect(await statusOfUser()).toBe(200)
    await page.sh('mv /etc/orch-server/oidc-ca.kept /etc/orch-server/oidc-ca.crt')
    await page.server.stop()
    await page.server.start()
    expect(await statusOfUser()).toBe(401)
  })

  test('audit events go to the server of the new kubeconfig', async () => {
    await vi.waitFor(() => expect(webhooks[0]!.bodies).not.toEqual([]), WAITING)
    await page.write('audit-webhook.next', webhookKubeconfig(webhooks[1]!.url))
    await page.follow('The audit webhook')
    await write()
    await vi.waitFor(() => expect(webhooks[1]!.bodies).not.toEqual([]), WAITING)
  })

  test('writes go on while the certificates between server and etcd are replaced', async () => {
    const [old, next] = authorities.etcd
    const { pid } = page.server
    const taken = 'changed certificates for etcd were taken over'
    const step = async (block: number): Promise<void> => {
      const already = page.log().length
      await page.follow('The certificates for etcd', block)
      await logged(taken, already)
    }
    const restartEtcd = async (ca: string): Promise<void> => {
      await giveToEtcd(ca, await next.server())
      await etcd.kill()
      await etcd.start()
      await vi.waitFor(write, SELDOM)
    }
    await page.write('etcd-ca.next.crt', next.cert)
    await step(0)
    await restartEtcd(old.cert + next.cert)
    const { cert, key } = await next.client('orch-server')
    await page.write('etcd-client.next.crt', cert)
    await page.write('etcd-client.next.key', key)
    await step(1)
    await step(2)
    await restartEtcd(next.cert)
    expect(page.server.pid).toBe(pid)
  })
})
