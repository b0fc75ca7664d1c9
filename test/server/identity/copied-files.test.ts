import { cp, mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { stringAt } from '../../../src/lib/json.ts'
import { startEtcd } from '../../support/etcd/etcd-process.ts'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import { lagUntil } from '../../support/identity/lag.ts'
import { UserClient } from '../../support/identity/user-client.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'

const PAGE = new URL('../../../docs/operate/orch-server.md', import.meta.url)
const TOKEN = '/api/v1/namespaces/default/serviceaccounts/default/token'

/** The files of a data directory that the page has operators copy before another server starts. */
async function filesOnPage(): Promise<readonly string[]> {
  const section = (await readFile(PAGE, 'utf8'))
    .split(/^## /m)
    .find((one) => one.startsWith('On etcd'))
  const items = section?.split('\n').filter((line) => line.startsWith('- `pki/')) ?? []
  return items.flatMap((line) =>
    [...line.matchAll(/`(pki\/[\w.]+)`/g)].map(([, path = '']) => path),
  )
}

test.runIf(hasEtcd())(
  'a second server with the files that the page names takes tokens of the first one',
  async () => {
    const files = await filesOnPage()
    expect(files).toEqual(['pki/encryption.keys', 'pki/sa.key', 'pki/ca.crt', 'pki/ca.key'])
    await using etcd = await startEtcd()
    const flags = [`--etcd-servers=${etcd.endpoint}`]
    await using first = await startOrchServer({ flags })
    await using second = await startOrchServer({
      flags,
      prepare: async (dataDir) => {
        for (const file of files) {
          await mkdir(dirname(join(dataDir, file)), { recursive: true, mode: 0o700 })
          // The keys of Secrets are of a file that the test gives to both servers.
          if (file === 'pki/encryption.keys') continue
          await cp(join(first.dataDir, file), join(dataDir, file))
        }
      },
    })
    await using admin = await UserClient.admin(first)
    await lagUntil(201, () => admin.send({ method: 'POST', path: TOKEN, body: { spec: {} } }))
    const token = stringAt(await admin.create(TOKEN, { spec: {} }), 'status', 'token')
    await using user = await UserClient.open(second, { token })
    expect(await user.review()).toMatchObject({ status: 201 })
  },
)
