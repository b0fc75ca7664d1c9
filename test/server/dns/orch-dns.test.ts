import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, createApiClient } from '../../../src/client/http/api-client.ts'
import { packetText } from '../../../src/dns/testing/packet-text.ts'
import { lookUp } from '../../../src/dns/testing/query-server.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type JsonObject, stringAt } from '../../../src/lib/json.ts'
import { freePort } from '../../../src/lib/testing/free-port.ts'
import { type OrchDnsProcess, startOrchDns } from '../../support/dns/orch-dns-process.ts'
import { signedToken } from '../../support/doctor/signed-token.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../support/orchserver/orch-server-process.ts'
import { launcherOf } from '../../support/programs.ts'

const SERVICES = '/api/v1/namespaces/default/services'
const run = promisify(execFile)

let held: AsyncDisposableStack
let server: OrchServerProcess
let api: ApiClient
beforeEach(async () => {
  held = new AsyncDisposableStack()
  server = held.use(await startOrchServer())
  api = createApiClient({ connection: server.connection, clock: systemClock, userAgent: 'test' })
  held.defer(() => api.close())
})
afterEach(() => held.disposeAsync())

async function startDns(...flags: readonly string[]): Promise<OrchDnsProcess> {
  const places = [
    `--dns-address=127.0.0.1:${await freePort()}`,
    `--status-address=127.0.0.1:${await freePort()}`,
  ]
  return held.use(
    await startOrchDns({ kubeconfig: server.kubeconfig, flags: [...places, ...flags] }),
  )
}

async function make(name: string, clusterIP: string): Promise<void> {
  const spec = { clusterIP, ports: [{ port: 80 }] }
  const made = await api.create(SERVICES, { metadata: { name }, spec })
  expect(made.ok).toBe(true)
}

async function addressesOf(dns: OrchDnsProcess, name: string): Promise<readonly string[]> {
  const packet = await lookUp(dns, 'A', `${name}.default.svc.cluster.local`)
  return packetText(packet).answers.map((record) => record.split(' ').at(-1)!)
}

function untilAddress(dns: OrchDnsProcess, name: string, wanted: readonly string[]) {
  return expect.poll(() => addressesOf(dns, name)).toEqual(wanted)
}

async function page(dns: OrchDnsProcess, path: string): Promise<readonly [number, string]> {
  const response = await fetch(`${dns.statusUrl}${path}`)
  return [response.status, await response.text()]
}

test('names stay while the API server is away, and follow it when it is back', async () => {
  await make('web', '10.96.0.80')
  const dns = await startDns()
  expect(await addressesOf(dns, 'web')).toEqual(['10.96.0.80'])
  expect((await page(dns, '/readyz'))[0]).toBe(200)
  await server.kill()
  expect(await addressesOf(dns, 'web')).toEqual(['10.96.0.80'])
  expect((await page(dns, '/readyz'))[0]).toBe(200)
  await server.start()
  await make('later', '10.96.0.81')
  await untilAddress(dns, 'later', ['10.96.0.81'])
  expect((await api.remove(`${SERVICES}/web`, {})).ok).toBe(true)
  await untilAddress(dns, 'web', [])
  const [, metrics] = await page(dns, '/metrics')
  expect(metrics).toContain('orchdns_services 3')
  expect(metrics).toMatch(/orchdns_responses_total\{rcode="NXDOMAIN"\} [1-9]/)
  expect(metrics).toContain('orchdns_failures_total 0')
})

test('its account needs the role for names, and no more', async () => {
  await make('web', '10.96.0.80')
  const folder = mkdtempSync(join(tmpdir(), 'np-dns-'))
  held.defer(() => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'kubeconfig')
  await run(launcherOf('orch-server'), [
    'kubeconfig',
    '--user=system:cluster-dns',
    `--data-dir=${server.dataDir}`,
    `--output=${kubeconfig}`,
  ])
  const place = `--dns-address=127.0.0.1:${await freePort()}`
  const dns = held.use(await startOrchDns({ kubeconfig, flags: [place, '--status-address='] }))
  expect(await addressesOf(dns, 'web')).toEqual(['10.96.0.80'])
})

test('a token in its kubeconfig that is due is renewed, or reported where the right is missing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'np-dns-'))
  held.defer(() => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'kubeconfig')
  const accounts = '/api/v1/namespaces/kube-system/serviceaccounts'
  const made = await api.create(accounts, { metadata: { name: 'dns' } })
  const uid = made.ok ? stringAt(made.value as JsonObject, 'metadata', 'uid') : ''
  const group = 'rbac.authorization.k8s.io'
  await api.create(`/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: 'dns' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'system:cluster-dns' },
    subjects: [{ kind: 'ServiceAccount', name: 'dns', namespace: 'kube-system' }],
  })
  const key = readFileSync(join(server.dataDir, 'pki/sa.key'), 'utf8')
  const claims = { namespace: 'kube-system', account: { name: 'dns', uid } }
  /** Writes a kubeconfig as an operator does, whose token has five of its sixty minutes left. */
  async function writeKubeconfig(...flags: readonly string[]): Promise<string> {
    await run(launcherOf('orch-server'), [
      'kubeconfig',
      '--service-account=kube-system/dns',
      `--data-dir=${server.dataDir}`,
      `--output=${kubeconfig}`,
      ...flags,
    ])
    const due = await signedToken({ key, claims, aheadMs: -55 * 60_000 })
    const text = readFileSync(kubeconfig, 'utf8').replace(/token: \S+/, `token: ${due}`)
    writeFileSync(kubeconfig, text)
    return text
  }
  const startIt = async () => {
    const place = `--dns-address=127.0.0.1:${await freePort()}`
    const flags = [place, `--status-address=127.0.0.1:${await freePort()}`]
    return held.use(await startOrchDns({ kubeconfig, flags }))
  }
  await writeKubeconfig('--no-renewal')
  const poor = await startIt()
  await expect
    .poll(() => page(poor, '/readyz'))
    .toEqual([
      200,
      expect.stringMatching(
        /^ok\nthe token of kubeconfig .* cannot be renewed: 403 .*dns \(RBAC\)\n$/,
      ),
    ])
  expect((await page(poor, '/metrics'))[1]).toMatch(
    /orchdns_client_credential_late_timestamp_seconds\{kind="token"\} \d+/,
  )
  const before = await writeKubeconfig()
  const dns = await startIt()
  await expect.poll(() => readFileSync(kubeconfig, 'utf8')).not.toBe(before)
  await make('web', '10.96.0.80')
  await untilAddress(dns, 'web', ['10.96.0.80'])
  await expect.poll(() => page(dns, '/readyz')).toEqual([200, 'ok\n'])
})

test('after SIGTERM it is not ready, and answers a while longer', async () => {
  await make('web', '10.96.0.80')
  const dns = await startDns('--shutdown-delay=3s')
  const ended = once(dns.child, 'exit')
  dns.child.kill('SIGTERM')
  await expect.poll(() => page(dns, '/readyz')).toEqual([503, 'stopping\n'])
  expect(await addressesOf(dns, 'web')).toEqual(['10.96.0.80'])
  expect(await ended).toEqual([0, null])
})

describe('a start that cannot serve ends with 1 and the reason', () => {
  async function failure(...flags: readonly string[]): Promise<string> {
    const words = [`--kubeconfig=${server.kubeconfig}`, '--status-address=', ...flags]
    const { code, stdout } = await run(launcherOf('orch-dns'), words).then(
      () => ({ code: 0, stdout: '' }),
      (error: { code: number; stdout: string }) => error,
    )
    expect(code).toBe(1)
    return stdout
  }

  test('an address that another program has', async () => {
    const dns = await startDns()
    expect(await failure(`--dns-address=127.0.0.1:${dns.port}`)).toMatch(
      /NP_DNS_LISTEN.*over TCP at 127\.0\.0\.1:\d+: EADDRINUSE.*another program has the port/,
    )
  })

  test('an upstream that is the server itself', async () => {
    const port = await freePort()
    const flags = [`--dns-address=127.0.0.1:${port}`, `--dns-upstream=127.0.0.1:${port}`]
    expect(await failure(...flags)).toContain('NP_DNS_LOOP')
  })

  test('a file of the resolver without servers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'np-dns-'))
    held.defer(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'resolv.conf')
    writeFileSync(file, 'search example.com\n')
    const place = `--dns-address=127.0.0.1:${await freePort()}`
    expect(await failure(place, `--dns-resolv-conf=${file}`)).toContain('NP_DNS_RESOLV_CONF')
  })
})
