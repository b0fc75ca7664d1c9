import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { completeConfiguration } from '../../settings/settings.ts'
import type { EtcdConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'
import { newFolder } from '../fixtures.ts'
import { openStore } from './open-store.ts'

/** Nobody listens there. */
const AWAY = ['http://127.0.0.1:9']

async function open(dataDir: string, etcd: Partial<EtcdConfiguration> = {}) {
  const config = completeConfiguration(SETTINGS_TABLE, new Map())
  const parts = { clock: systemClock, onError: () => undefined }
  return (await openStore({ ...config, dataDir, etcd: { ...config.etcd, ...etcd } }, parts)).store
}

it.each([
  ['embedded', {}],
  ['in etcd', { servers: AWAY }],
])('a data directory belongs to one process while the store is %s', async (_name, etcd) => {
  const dataDir = join(newFolder(), 'data')
  const store = await open(dataDir, etcd)
  await expect(open(dataDir, etcd)).rejects.toMatchObject({ code: 'NP_STORAGE_LOCKED' })
  await store.close()
  await (await open(dataDir, etcd)).close()
})

it('refuses certificates for etcd that cannot be read, and lets go of the directory', async () => {
  const dataDir = newFolder()
  const etcd = { servers: AWAY, caFile: '/no/such' }
  await expect(open(dataDir, etcd)).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_ETCD_FILE',
    object: '/no/such',
  })
  await (await open(dataDir)).close()
})

it('refuses what is no address of etcd, and lets go of the directory', async () => {
  const dataDir = newFolder()
  await expect(open(dataDir, { servers: ['ftp://a'] })).rejects.toMatchObject({
    code: 'NP_STORAGE_ETCD_ENDPOINT',
  })
  await (await open(dataDir)).close()
})
