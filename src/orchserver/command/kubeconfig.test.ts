import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { startIdentityApi } from '../../apiserver/testing/identity-api.ts'
import { loadKubeconfig } from '../../client/connection/kubeconfig.ts'
import { createApiClient } from '../../client/http/api-client.ts'
import { systemClock } from '../../lib/clock.ts'
import { type Json, valueAt } from '../../lib/json.ts'
import { writeKubeconfig } from '../access/kubeconfig.ts'
import { ADMIN, adminCertificate } from '../certificates/client-certificate.ts'
import { issueAuthority } from '../certificates/issue.ts'
import { madeCertificate } from '../certificates/serving-certificate.ts'
import { writePrivateFile } from '../system/private-file.ts'
import { newFolder } from '../testing/new-folder.ts'
import { runProgram } from './program.ts'

const HOUR = 3_600_000
const ADDRESS = 'https://127.0.0.1:6443'

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function run(dataDir: string, ...args: string[]): Promise<Ran> {
  let [out, err] = ['', '']
  const code = await runProgram(['kubeconfig', `--data-dir=${dataDir}`, ...args], {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    version: '1.2.3',
    loadServer: () => Promise.reject(new Error('nothing is to be served')),
  })
  return { code, out, err }
}

/** A data directory as a start of the server leaves it. */
async function dataDirectory(server = ADDRESS) {
  const dataDir = newFolder()
  const folder = join(dataDir, 'pki')
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] }
  const serving = await madeCertificate({ folder, names, clock: systemClock }).current()
  const credential = await adminCertificate({ folder, clock: systemClock }).current()
  const kubeconfig = join(dataDir, 'admin.kubeconfig')
  const publish = (url: string): Promise<void> =>
    writeKubeconfig(kubeconfig, {
      server: url,
      authority: serving.authority,
      user: { name: ADMIN, credential },
    })
  await publish(server)
  return { dataDir, folder, serving, kubeconfig, publish }
}

/** A server with users; its data directory has a kubeconfig. */
async function runningServer(maxTokenLifetime = 2 ** 32) {
  const directory = await dataDirectory()
  const { serving, publish } = directory
  const api = await startIdentityApi([], {
    identity: { maxTokenLifetime },
  })
  const listener = await api.server.listen({
    tls: serving,
    clientAuthorities: serving.authority!,
  })
  await publish(listener.url)
  return { ...directory, api }
}

/** The certificate in the text of a kubeconfig. */
function certificateIn(text: string): X509Certificate {
  const user = valueAt(parse(text) as Json, 'users') as Json[]
  const data = valueAt(user[0], 'user', 'client-certificate-data') as string
  return new X509Certificate(atob(data))
}

/** Who a server takes the reader of a kubeconfig for. */
async function whoami(path: string): Promise<Json | undefined> {
  const connection = await loadKubeconfig({ path, master: undefined, clock: systemClock })
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  onTestFinished(() => client.close())
  const answer = await client.create('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  })
  if (!answer.ok) throw new Error(answer.failure.message)
  return valueAt(answer.value as Json, 'status', 'userInfo')
}

describe('orch-server kubeconfig', () => {
  it('explains itself, and nothing else', async () => {
    const { code, out } = await run('/nowhere', '--help')
    expect(code).toBe(0)
    expect(out).toMatch(/--user <name>.*--group <name>.*--service-account.*720h.*--data-dir/s)
    expect(out).not.toContain('--secure-port')
  })

  it.each<[string[], RegExp]>([
    [[], /--user: write either --user NAME or --service-account/],
    [['--user=a', '--service-account=b/c'], /write either --user NAME or/],
    [['--user='], /write either --user NAME or/],
    [['--user=a\nb'], /--user: "a\\nb": write a name without control/],
    [['--user=a\u202eb'], /without control and formatting/],
    [['--user=a\u0000b'], /without control and formatting/],
    [[`--user=${'x'.repeat(257)}`], /at most 256 characters/],
    [['--user=system:serviceaccount:default:x'], /write --service-account NAMESPACE\/NAME/],
    [['--user=a', '--group='], /--group: "": write a name; it is empty/],
    [
      ['--user=a', '--group=b', '--group=c\r', '--group=d'],
      /--group: "c\\r": write a name without/,
    ],
    [['--user=a', '--audience=x'], /--audience: "x": is only for --service-account/],
    [['--user=a', '--no-renewal'], /--no-renewal: is only for --service-account/],
    [['--service-account=a/b', '--group=x'], /--group: "x": is only for --user/],
    [['--service-account=a/b', '--audience='], /--audience: "": write a name/],
    [['--service-account=a'], /write NAMESPACE\/NAME/],
    [['--service-account=a/b/c'], /write NAMESPACE\/NAME/],
    [['--service-account=../b'], /write NAMESPACE\/NAME/],
    [['--service-account=a/..'], /write NAMESPACE\/NAME/],
    [['--service-account=a/b?dryRun=All'], /write NAMESPACE\/NAME/],
    [['--user=a', '--valid-for=9m'], /--valid-for: "9m": write a duration such as 720h/],
    [['--user=a', '--valid-for=soon'], /--valid-for: "soon": write a duration/],
    [['--user=a', '--valid-for=-1h'], /--valid-for/],
    [['--user=a', '--valid-for=2000000h'], /--valid-for: "2000000h": write a duration/],
    [
      ['--user=a', '--server=http://x'],
      /--server: "http:\/\/x": write a URL that begins with https/,
    ],
    [['--user=a', '--server=https://u:p@x'], /--server contains a user or password/],
    [['--user=a', '--secure-port=1'], /--secure-port: unknown flag/],
    [['--user=a', 'more'], /too many arguments/],
    [['--user=a', '--config=/no/such'], /cannot read \/no\/such/],
  ])('%j ends with 2 and an error', async (args, message) => {
    const { dataDir } = await dataDirectory()
    const { code, out, err } = await run(dataDir, ...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(message)
  })
})

describe('orch-server kubeconfig --user', () => {
  it.each([
    'ann',
    'ann, O=system:masters',
    'a"system:masters"',
    '#0c0a6f7263682d61646d696e',
    'Åsa 李: \u{1F600}',
    '- [x] {y}',
  ])('makes the server take its reader for exactly %s', async (name) => {
    const { dataDir } = await runningServer()
    const path = join(dataDir, 'sub', 'other.kubeconfig')
    const ran = await run(
      dataDir,
      `--user=${name}`,
      `--group=${name}`,
      '--group=dev',
      `--output=${path}`,
    )
    expect([ran.code, ran.out]).toEqual([0, ''])
    expect(ran.err).toMatch(/is valid until .*remove the bindings.*or replace the authority\n$/)
    expect(ran.err).not.toContain('warning')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(await whoami(path)).toMatchObject({
      username: name,
      groups: [name, 'dev', 'system:authenticated'],
    })
  })

  it('goes to the standard output, for 30 days, while no server runs', async () => {
    const { dataDir, serving } = await dataDirectory()
    for (const args of [[], ['--output=-']]) {
      const { code, out } = await run(dataDir, '--user=ann', ...args)
      expect(code).toBe(0)
      expect(parse(out)).toMatchObject({
        clusters: [
          {
            cluster: { server: ADDRESS, 'certificate-authority-data': btoa(serving.authority!) },
          },
        ],
        contexts: [{ context: { cluster: 'orch', user: 'ann' } }],
        'current-context': 'orch',
      })
      const days = (certificateIn(out).validToDate.getTime() - Date.now()) / (24 * HOUR)
      expect(Math.round(days)).toBe(30)
    }
  })

  it('says that system:masters cannot be taken away', async () => {
    const { dataDir } = await dataDirectory()
    const { code, err } = await run(dataDir, '--user=ann', '--group=system:masters')
    expect(code).toBe(0)
    expect(err).toMatch(
      /warning: the group "system:masters" may do everything, and this right cannot/,
    )
  })

  it('names another address', async () => {
    const { dataDir, kubeconfig } = await dataDirectory()
    const args = ['--user=ann', '--server=https://api.example.org/prefix']
    expect((await run(dataDir, ...args)).out).toContain('server: https://api.example.org/prefix\n')
    rmSync(kubeconfig)
    const { code, out } = await run(dataDir, ...args)
    expect(code).toBe(0)
    expect(out).toContain('certificate-authority-data')
  })

  it('is refused beyond the end of the authority, with both dates', async () => {
    const { dataDir, folder } = await dataDirectory()
    const end = new X509Certificate(readFileSync(join(folder, 'ca.crt'))).validToDate.toISOString()
    const { code, out, err } = await run(dataDir, '--user=ann', '--valid-for=99999h')
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(
      /would end on 20\d\d-.*Z, after its authority.*write at most --valid-for=87\d\d\dh/,
    )
    expect(err).toContain(end.slice(0, 10))
  })

  it('is refused by an authority that has ended, which stays as it is', async () => {
    const { dataDir, folder } = await dataDirectory()
    const authority = {
      subject: 'CN=old',
      key: readFileSync(join(folder, 'ca.key'), 'utf8'),
    }
    const old = await issueAuthority(authority, Date.now() - 4000 * 24 * HOUR)
    writeFileSync(join(folder, 'ca.crt'), old)
    const { code, err } = await run(dataDir, '--user=ann')
    expect(code).toBe(2)
    expect(err).toMatch(/after its authority.*; at its start orch-server renews/)
    expect(readFileSync(join(folder, 'ca.crt'), 'utf8')).toBe(old)
  })

  it.each([
    ['ca.crt', /ca\.crt does not exist; check --data-dir/],
    ['ca.key', /ca\.key does not exist; restore/],
  ])('is refused without %s, which is not made', async (name, message) => {
    const { dataDir, folder } = await dataDirectory()
    rmSync(join(folder, name))
    const { code, out, err } = await run(dataDir, '--user=ann')
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(message)
    expect(existsSync(join(folder, name))).toBe(false)
  })

  it('is refused with the key of another authority', async () => {
    const [{ dataDir, folder }, other] = [await dataDirectory(), await dataDirectory()]
    writeFileSync(join(folder, 'ca.key'), readFileSync(join(other.folder, 'ca.key')))
    const { code, err } = await run(dataDir, '--user=ann')
    expect(code).toBe(1)
    expect(err).toMatch(/ca\.crt is not the certificate of .*ca\.key/)
  })

  it('is refused where there is no data directory, and makes none', async () => {
    const dataDir = join(newFolder(), 'none')
    const { code, err } = await run(dataDir, '--user=ann', '--server=https://x')
    expect(code).toBe(1)
    expect(err).toMatch(/none\/pki\/ca\.crt does not exist; check --data-dir/)
    expect(existsSync(dataDir)).toBe(false)
  })

  it('is refused without the address of a server', async () => {
    const { dataDir, kubeconfig } = await dataDirectory()
    rmSync(kubeconfig)
    const { code, err } = await run(dataDir, '--user=ann')
    expect(code).toBe(1)
    expect(err).toMatch(/admin\.kubeconfig does not exist; start orch-server/)
  })

  it('replaces its own file only: neither that of another program nor that of the server', async () => {
    const { dataDir, kubeconfig } = await dataDirectory()
    const path = join(newFolder(), 'config')
    expect((await run(dataDir, '--user=ann', `--output=${path}`)).code).toBe(0)
    const first = readFileSync(path, 'utf8')
    expect((await run(dataDir, '--user=bob', `--output=${path}`)).code).toBe(0)
    expect(readFileSync(path, 'utf8')).not.toBe(first)
    writeFileSync(path, 'apiVersion: v1\n')
    for (const foreign of [path, kubeconfig]) {
      const before = readFileSync(foreign, 'utf8')
      const { code, err } = await run(dataDir, '--user=ann', `--output=${foreign}`)
      expect(code).toBe(1)
      expect(err).toMatch(
        /exists, and this command did not write it; name another file with --output/,
      )
      expect(readFileSync(foreign, 'utf8')).toBe(before)
    }
  })
})

describe('orch-server kubeconfig --service-account', () => {
  const account = '--service-account=default/builder'

  it('makes the server take its reader for the account', async () => {
    const { dataDir, api } = await runningServer()
    await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'builder' } })
    const path = join(dataDir, 'builder.kubeconfig')
    const ran = await run(dataDir, account, '--valid-for=30m', `--output=${path}`)
    expect([ran.code, ran.out]).toEqual([0, ''])
    expect(ran.err).toMatch(/service account default\/builder is valid until 20.*Z \(30m\)/)
    expect(await whoami(path)).toMatchObject({ username: 'system:serviceaccount:default:builder' })
    expect(readFileSync(path, 'utf8')).not.toContain('client-key-data')
    expect(ran.err).not.toContain('eyJ')
  })

  it.each([
    ['the account may request its next token, and nothing else', [], [201, 403, 403]],
    ['with --no-renewal it may not', ['--no-renewal'], [403, 403, 403]],
  ])('%s', async (_, flags, expected) => {
    const { dataDir, api } = await runningServer()
    const accounts = '/api/v1/namespaces/default/serviceaccounts'
    for (const name of ['builder', 'other']) await api.make(accounts, { metadata: { name } })
    const path = join(dataDir, 'builder.kubeconfig')
    const ran = await run(dataDir, account, `--output=${path}`, ...flags)
    expect(ran.code).toBe(0)
    expect(ran.err.includes('the Role default/builder:renew-token permits this')).toBe(
      flags.length === 0,
    )
    expect((await run(dataDir, account, `--output=${path}`, ...flags)).code).toBe(0)
    const connection = await loadKubeconfig({ path, master: undefined, clock: systemClock })
    const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
    onTestFinished(() => client.close())
    const status = async (of: string, body: object): Promise<number> => {
      const answer = await client.create(of, body)
      return answer.ok ? 201 : answer.failure.code
    }
    const statuses = [
      await status(`${accounts}/builder/token`, { spec: {} }),
      await status(`${accounts}/other/token`, { spec: {} }),
      await status(accounts, { metadata: { name: 'more' } }),
    ]
    expect(statuses).toEqual(expected)
  })

  it('says that the server granted less', async () => {
    const { dataDir, api } = await runningServer(3600)
    await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'builder' } })
    const { code, err, out } = await run(dataDir, account, '--server=https://elsewhere')
    expect(code).toBe(0)
    expect(err).toContain('(1h, less than the requested 720h)')
    expect(out).toContain('server: https://elsewhere\n')
  })

  it('has the audiences that were named', async () => {
    const { dataDir, api } = await runningServer()
    await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'builder' } })
    const { out } = await run(dataDir, account, '--audience=vault', '--audience=a,b')
    const [, claims = ''] = /token: \S+?\.(\S+?)\./.exec(out) ?? []
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      aud: ['vault', 'a,b'],
    })
  })

  it('is refused for an account that does not exist', async () => {
    const { dataDir } = await runningServer()
    const { code, out, err } = await run(dataDir, account)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(
      /not found; create the account with kubectl -n default create serviceaccount builder/,
    )
  })

  it('is refused while no server runs', async () => {
    const { dataDir, publish } = await dataDirectory()
    await publish('https://127.0.0.1:1')
    const { code, out, err } = await run(dataDir, account)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(
      /127\.0\.0\.1:1 did not issue one: .*; start orch-server; .*NP_ORCHSERVER_TOKEN/,
    )
  })

  it('is refused where the server does not know its administrator', async () => {
    const { dataDir, kubeconfig } = await runningServer()
    const text = readFileSync(kubeconfig, 'utf8').replaceAll(/ +client-.*\n/g, '')
    await writePrivateFile(kubeconfig, text.replace(/user:$/m, 'user: {token: forged}'))
    const { code, err } = await run(dataDir, account)
    expect(code).toBe(1)
    expect(err).toMatch(/restart orch-server, which writes kubeconfig/)
  })

  it('requests no token where the file of another program is in the way', async () => {
    const { dataDir, publish } = await dataDirectory()
    await publish('https://127.0.0.1:1')
    const path = join(newFolder(), 'config')
    writeFileSync(path, 'x')
    const { code, err } = await run(dataDir, account, `--output=${path}`)
    expect(code).toBe(1)
    expect(err).toContain('NP_ORCHSERVER_KUBECONFIG')
  })
})
