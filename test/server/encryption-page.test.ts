import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startEtcd } from '../support/etcd/etcd-process.ts'
import { hasEtcd } from '../support/etcd/has-etcd.ts'
import { installedKubectls } from '../support/kubectl/installed.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'
import { type OperatedPage, operatePage } from '../support/pages/operated-page.ts'

/** Files are read every ten seconds, and a rewrite waits ten more. */
const WAITING = { timeout: 90_000, interval: 100 }
/** For what starts programs. */
const SELDOM = { ...WAITING, interval: 1_000 }
const READ_AGAIN = 'the encryption keys were read again'
const REWRITTEN = 'all Secrets are encrypted with the first key'

const WORD = 'get secret password -o jsonpath={.data.word}'
const OPEN = Buffer.from('open').toString('base64')

function createPassword(page: OperatedPage, name = 'password'): Promise<string> {
  return page.sh(`kubectl create secret generic ${name} --from-literal=word=open`)
}

function namesOfKeys(checked: string): readonly string[] {
  return [...checked.matchAll(/encrypted with the key "([^"]*)"/g)].map(([, name = '']) => name)
}

describe.runIf(hasEtcd() && installedKubectls().length > 0)('two servers on one etcd', () => {
  const held = new AsyncDisposableStack()
  let page: OperatedPage
  let other: OrchServerProcess
  let copyKeys: () => Promise<void>
  let otherSaid = ''

  beforeAll(async () => {
    const etcd = held.use(await startEtcd())
    page = held.use(
      await operatePage({
        page: 'encryption.md',
        prepare: 'The key file',
        settings: {
          etcd: { servers: [etcd.endpoint] },
          encryption: { keyFile: '/etc/orch-server/encryption.keys' },
        },
      }),
    )
    const folder = await mkdtemp(join(tmpdir(), 'np-keys-'))
    held.defer(() => rm(folder, { recursive: true }))
    const keys = join(folder, 'keys')
    copyKeys = () => copyFile(join(page.etc, 'encryption.keys'), keys)
    await copyKeys()
    other = held.use(
      await startOrchServer({
        flags: [`--etcd-servers=${etcd.endpoint}`, `--encryption-key-file=${keys}`],
        onOutput: (bytes) => void (otherSaid += bytes.toString()),
      }),
    )
  })

  afterAll(() => held.disposeAsync())

  /** Both servers get the changed file; resolves when each has logged the text anew. */
  async function onBoth(text: string, change: () => Promise<unknown>): Promise<void> {
    const [one, two] = [page.log().length, otherSaid.length]
    await change()
    await copyKeys()
    await vi.waitFor(() => expect(page.log().slice(one)).toContain(text), WAITING)
    await vi.waitFor(() => expect(otherSaid.slice(two)).toContain(text), WAITING)
  }

  async function expectReadByBoth(): Promise<void> {
    expect(await page.sh(`kubectl ${WORD}`)).toBe(OPEN)
    expect(await page.sh(`kubectl --kubeconfig ${other.kubeconfig} ${WORD}`)).toBe(OPEN)
  }

  test('replace the key while both read and write Secrets', async () => {
    await createPassword(page)
    await expectReadByBoth()
    await onBoth(READ_AGAIN, () => page.follow('Rotate the key', 0))
    const first = namesOfKeys(await page.follow('Rotate the key', 2))
    const already = page.log().length
    await onBoth(REWRITTEN, async () => {
      await page.follow('Rotate the key', 1)
      await vi.waitFor(() => expect(page.log().slice(already)).toContain(READ_AGAIN), WAITING)
      await createPassword(page, 'early')
      const read = `kubectl --kubeconfig ${other.kubeconfig} get secret early -o name`
      expect(await page.sh(read)).toBe('secret/early\n')
    })
    const second = namesOfKeys(await page.follow('Rotate the key', 2))
    expect([first.length, second.length]).toEqual([1, 1])
    expect(second).not.toEqual(first)
    await onBoth(READ_AGAIN, () => page.follow('Rotate the key', 3))
    expect(await page.sh('grep -c . /etc/orch-server/encryption.keys')).toBe('1\n')
    await expectReadByBoth()
    await page.server.stop()
    await page.server.start()
    await expectReadByBoth()
  })
})

describe.runIf(installedKubectls().length > 0)('a backup and its key', () => {
  let page: OperatedPage

  beforeAll(async () => {
    page = await operatePage({ page: 'encryption.md' })
    for (const name of ['password', 'discarded']) await createPassword(page, name)
    await page.follow('Backup and restore', 0)
  })

  afterAll(() => page?.[Symbol.asyncDispose]())

  test('with a lost key all but the Secrets is served, and new ones are made', async () => {
    await page.server.stop()
    await page.sh('echo "other:$(openssl rand -base64 32)" > pki/encryption.keys')
    await expect(page.server.start()).rejects.toThrow('NP_ORCHSERVER_ENCRYPTION_KEY')
    await page.follow('A key is lost', 1)
    await expect(page.sh(`kubectl ${WORD}`)).rejects.toThrow('InternalError')
    await page.sh('kubectl delete secret discarded')
    await createPassword(page, 'discarded')
    await createPassword(page, 'later')
  })

  test('a key that is put back makes them readable without a restart', async () => {
    const { pid } = page.server
    await page.follow('A key is lost', 0)
    await vi.waitFor(async () => expect(await page.sh(`kubectl ${WORD}`)).toBe(OPEN), SELDOM)
    expect(page.server.pid).toBe(pid)
  })

  test('a backup is restored with the key of its time', async () => {
    await page.sh('head -n 1 pki/encryption.keys > pki/one; mv pki/one pki/encryption.keys')
    await page.follow('Backup and restore', 1)
    expect(await page.sh(`kubectl ${WORD}`)).toBe(OPEN)
    expect(await page.sh('kubectl get secrets -o name')).toBe('secret/discarded\nsecret/password\n')
  })
})
