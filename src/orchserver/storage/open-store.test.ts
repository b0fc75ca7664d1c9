import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { completeConfiguration } from '../../settings/settings.ts'
import { madeCertificate } from '../certificates/serving-certificate.ts'
import type { EtcdConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'
import { newFolder } from '../testing/new-folder.ts'
import { openStore, type StoreParts } from './open-store.ts'

const ignore = (): void => undefined

/** No server listens there. */
const AWAY = ['http://127.0.0.1:9']

async function open(
  dataDir: string,
  etcd: Partial<EtcdConfiguration> = {},
  parts: StoreParts = { clock: systemClock, onError: ignore, log: { info: ignore } },
) {
  const config = completeConfiguration(SETTINGS_TABLE, new Map())
  return openStore({ ...config, dataDir, etcd: { ...config.etcd, ...etcd } }, parts)
}

it.each([
  ['embedded', {}],
  ['in etcd', { servers: AWAY }],
])('a data directory belongs to one process while the store is %s', async (_name, etcd) => {
  const dataDir = join(newFolder(), 'data')
  const { store } = await open(dataDir, etcd)
  await expect(open(dataDir, etcd)).rejects.toMatchObject({ code: 'NP_STORAGE_LOCKED' })
  await store.close()
  await (await open(dataDir, etcd)).store.close()
})

it('refuses certificates for etcd that cannot be read, and lets go of the directory', async () => {
  const dataDir = newFolder()
  const etcd = { servers: AWAY, caFile: '/no/such' }
  await expect(open(dataDir, etcd)).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_ETCD_FILE',
    object: '/no/such',
  })
  await (await open(dataDir)).store.close()
})

it('refuses what is no address of etcd, and lets go of the directory', async () => {
  const dataDir = newFolder()
  await expect(open(dataDir, { servers: ['ftp://a'] })).rejects.toMatchObject({
    code: 'NP_STORAGE_ETCD_ENDPOINT',
  })
  await (await open(dataDir)).store.close()
})

it('distinguishes a new store from an existing one', async () => {
  const dataDir = join(newFolder(), 'data')
  const openings: boolean[] = []
  for (const lost of [false, false, true]) {
    if (lost) rmSync(join(dataDir, 'store.sqlite'))
    const { store, isNew } = await open(dataDir)
    openings.push(isNew)
    await store.close()
  }
  expect(openings).toEqual([true, false, true])
})

it.each([
  ['ca.crt', 'caFile', 'nonsense', 'holds no certificate in PEM'],
  ['server.key', 'keyFile', 'nonsense', 'holds no private key in PEM'],
  ['server.crt', 'certFile', undefined, 'do not belong together'],
] as const)('refuses a %s for etcd that is of no use', async (name, field, content, message) => {
  const folder = newFolder()
  const names = { dns: ['a'], ips: [] }
  await madeCertificate({ folder, names, clock: systemClock }).current()
  const [caFile, certFile, keyFile] = ['ca.crt', 'server.crt', 'server.key'].map((one) =>
    join(folder, one),
  ) as [string, string, string]
  const changed = content === undefined ? { [field]: caFile } : {}
  if (content !== undefined) writeFileSync(join(folder, name), content)
  const etcd = { servers: AWAY, caFile, certFile, keyFile, ...changed }
  await expect(open(join(folder, 'data'), etcd)).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_ETCD_FILE',
    message: expect.stringContaining(message),
  })
})

it('reads renewed certificates for etcd, and reports errors in them', async () => {
  const folder = newFolder()
  const names = { dns: ['a'], ips: [] }
  await madeCertificate({ folder, names, clock: systemClock }).current()
  const caFile = join(folder, 'ca.crt')
  const clock = new FakeClock()
  const recorded = Promise.withResolvers<unknown>()
  const renewed = Promise.withResolvers<string>()
  const onError = (error: unknown) => {
    if ((error as { code?: unknown }).code === 'NP_ORCHSERVER_ETCD_FILE') recorded.resolve(error)
  }
  const log = { info: (said: unknown) => renewed.resolve(String(said)) }
  const { store } = await open(
    join(folder, 'data'),
    { servers: AWAY, caFile },
    { clock, onError, log },
  )
  appendFileSync(caFile, readFileSync(caFile))
  await clock.advance(10_000)
  expect(await renewed.promise).toContain('certificates for etcd were taken over')
  writeFileSync(caFile, 'nonsense')
  await expect.poll(() => clock.pending()).toContain(10_000)
  await clock.advance(10_000)
  expect(await recorded.promise).toMatchObject({ object: caFile })
  await store.close()
  expect(clock.pending()).toEqual([])
})
