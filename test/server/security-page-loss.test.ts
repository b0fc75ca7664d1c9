import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { newTestAuthority } from '../support/certificates/test-authority.ts'
import { installedKubectls } from '../support/kubectl/installed.ts'
import {
  byCertificate,
  byToken,
  type OperatedPage,
  operatePage,
  type Proof,
} from '../support/pages/operated-page.ts'
import { sectionsOf } from '../support/pages/page-section.ts'
import { launcherOf } from '../support/programs.ts'
import { webhookKubeconfig } from '../support/secrets/audit-webhook.ts'

const PROGRAM = launcherOf('orch-server')

interface Loss {
  /** What stands in backticks in the first column. */
  readonly lost: readonly string[]
  /** Of the error that ends a start. */
  readonly code: string | undefined
}

/** The rows of the page. */
const LOSSES: readonly Loss[] = sectionsOf('security.md')
  .find(({ heading }) => heading === 'A file is lost')!
  .text.split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| lost '))
  .map((line) => {
    const [, lost = '', start = ''] = line.split('|')
    const code = /does not start: `(\w+)`/.exec(start)?.[1]
    return { lost: [...lost.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name), code }
  })

/** Which clients of before are served after a start without files of the data directory. */
interface Served {
  /** Status of a client certificate. */
  readonly ann: number
  /** Status of an account token. */
  readonly token: number
  /** The earlier `admin.kubeconfig` serves on. */
  readonly kubeconfig: boolean
}

const ALL: Served = { ann: 200, token: 200, kubeconfig: true }
const FOREIGN: Served = { ann: 401, token: 200, kubeconfig: false }

/** By the files that are missing. */
const STARTS: Readonly<Record<string, Served>> = {
  'pki/ca.crt pki/ca.key': FOREIGN,
  'pki/ca.crt': FOREIGN,
  'pki/server.crt': ALL,
  'pki/server.key': ALL,
  'pki/admin.crt': ALL,
  'pki/admin.key': ALL,
  'pki/kubelet-client.crt': ALL,
  'pki/kubelet-client.key': ALL,
  'pki/node-client.crt': ALL,
  'pki/node-client.key': ALL,
  'admin.kubeconfig': ALL,
  'pki/sa.key': { ...ALL, token: 401 },
  'store.sqlite': { ...ALL, token: 401 },
}

const OF_DATA = LOSSES.filter(({ lost }) => !lost[0]!.startsWith('--'))
/** The page writes `a or b` for two losses, and `a and b` for one. */
const TOGETHER = ['pki/ca.crt', 'pki/ca.key']
const REMOVALS = OF_DATA.flatMap(({ lost, code }) =>
  (lost.join() === TOGETHER.join() ? [lost] : lost.map((one) => [one])).map(
    (files) => [files.join(' '), code] as const,
  ),
)
const FLAGS = LOSSES.flatMap(({ lost, code }) =>
  lost.filter((name) => name.startsWith('--')).map((flag) => [flag, code!] as const),
)

describe.runIf(installedKubectls().length > 0)('a file of the data directory is lost', () => {
  let page: OperatedPage
  let [ann, token]: readonly Proof[] = []
  let copy: string

  beforeAll(async () => {
    const files = { 'tokens.csv': 'a-token-of-the-file,robot,robot-1\n' }
    const authentication = { tokenFile: '/etc/orch-server/tokens.csv' }
    page = await operatePage({ page: 'security.md', settings: { authentication }, files })
    const { dataDir } = page.server
    copy = `${dataDir}-copy`
    await page.sh(`
      orch-server kubeconfig --config=$CONFIG --user ann --output ann.kubeconfig
      user=$(kubectl --kubeconfig ann.kubeconfig config view --raw -o json | jq '.users[0].user')
      jq -r '."client-certificate-data" | @base64d' <<< "$user" > /etc/orch-server/ann.crt
      jq -r '."client-key-data" | @base64d' <<< "$user" > /etc/orch-server/ann.key
      cp admin.kubeconfig /etc/orch-server/old.kubeconfig
      kubectl create secret generic password --from-literal=word=open
      kubectl create serviceaccount builder`)
    ann = byCertificate(join(page.etc, 'ann.crt'), join(page.etc, 'ann.key'))
    token = byToken((await page.sh('kubectl create token builder')).trim())
    await page.server.stop()
    await cp(dataDir, copy, { recursive: true })
    await page.server.start()
  })

  afterAll(() => page?.[Symbol.asyncDispose]())

  test('a running server goes on with what it has read, and names the file', async () => {
    const already = page.log().length
    await page.sh(`
      rm pki/sa.key pki/encryption.keys pki/ca.key pki/server.key /etc/orch-server/tokens.csv`)
    for (const name of ['sa.key', 'encryption.keys', 'ca.key', 'tokens.csv']) {
      const named = new RegExp(`"level":"error".*/${name}[^\\n]*(does not exist|ENOENT)`)
      await vi.waitFor(() => expect(page.log().slice(already)).toMatch(named), { timeout: 90_000 })
    }
    expect(await page.status(byToken('a-token-of-the-file'))).toBe(200)
    expect(await page.status(ann!)).toBe(200)
    const fresh = (await page.sh('kubectl create token builder')).trim()
    expect([await page.status(token!), await page.status(byToken(fresh))]).toEqual([200, 200])
    const word = 'kubectl get secret password -o jsonpath={.data.word}'
    expect(await page.sh(word)).toBe(Buffer.from('open').toString('base64'))
    await page.sh('echo a,b,c > /etc/orch-server/tokens.csv')
  })

  test.each(REMOVALS)('at a start: %s', async (files, code) => {
    const { dataDir } = page.server
    await page.server.stop()
    await rm(dataDir, { recursive: true })
    await cp(copy, dataDir, { recursive: true })
    for (const file of files.split(' ')) await page.sh(`rm ${file}*`)
    if (code !== undefined) {
      await expect(page.server.start()).rejects.toThrow(code)
      return
    }
    const already = page.log().length
    await page.server.start()
    expect(await page.sh('kubectl auth whoami')).toContain('orch-admin')
    expect({
      ann: await page.status(ann!),
      token: await page.status(token!),
      kubeconfig: await page
        .sh('kubectl --kubeconfig /etc/orch-server/old.kubeconfig auth whoami')
        .then(
          () => true,
          () => false,
        ),
    }).toEqual(STARTS[files])
    const isSaid = page.log().slice(already).includes('so an empty one was created')
    expect(isSaid).toBe(files === 'store.sqlite')
  })
})

describe('a given file is lost', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'np-loss-'))
  })

  afterAll(() => rm(folder, { recursive: true }))

  /** Starts with every flag of the page, of which all files but one exist; the exit code, and what it said. */
  async function startWithout(flag: string): Promise<string> {
    const authority = await newTestAuthority('ours')
    const { cert, key } = await authority.server()
    const texts: Readonly<Record<string, string>> = {
      'tls-cert-file': cert,
      'tls-private-key-file': key,
      'client-ca-file': authority.cert,
      'token-auth-file': 'a,b,c\n',
      'oidc-ca-file': authority.cert,
      'encryption-key-file': `a:${Buffer.alloc(32).toString('base64')}\n`,
      'service-account-signing-key-file': key,
      'service-account-key-file': key,
      'etcd-cafile': authority.cert,
      'etcd-certfile': cert,
      'etcd-keyfile': key,
      'audit-webhook-config-file': webhookKubeconfig('http://127.0.0.1:1'),
      'audit-policy-file': 'apiVersion: audit.orch.io/v1\nkind: Policy\nrules: [{level: None}]\n',
    }
    expect(Object.keys(texts)).toContain(flag.slice(2))
    for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text)
    await rm(join(folder, flag.slice(2)))
    const flags = Object.keys(texts).map((name) => `--${name}=${join(folder, name)}`)
    const others = ['--etcd-servers=https://127.0.0.1:1', '--oidc-issuer-url=https://127.0.0.1:1']
    const where = [`--data-dir=${join(folder, 'data')}`, '--secure-port=0', '--oidc-client-id=a']
    const { promise, resolve } = Promise.withResolvers<string>()
    execFile(PROGRAM, [...flags, ...others, ...where], { timeout: 60_000 }, (error, out, err) =>
      resolve(`${error?.code}: ${out}${err}`),
    )
    return promise
  }

  test.each(FLAGS)('of %s', async (flag, code) => {
    const said = await startWithout(flag)
    expect(said).toMatch(/^2: /)
    expect(said).toContain(code)
    expect(said).toContain(join(folder, flag.slice(2)))
  })
})
