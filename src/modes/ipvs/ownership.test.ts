import { expect, test } from 'vitest'
import {
  codesOf,
  FOREIGN_TEXT,
  fakeIpvsNode,
  fakeKernel,
  foreignAt,
  membersOf,
  SERVER,
  SERVER_KEY,
  serversOf,
  service,
  VIP,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import { ip } from '../testing/mode-fixtures.ts'

test('virtual servers of others are neither seen nor touched', async () => {
  const kernel = fakeKernel()
  const mark = { family: 4, mark: 77 } as const
  const six = { ...VIP, family: 6, ip: ip('fd00::77') } as const
  await kernel.ipvs.run([mark, six, { ...VIP, ip: ip('172.30.0.77') }].flatMap(foreignAt))
  const theirs = await serversOf(kernel)
  const { look, sync, remove, mode } = fakeIpvsNode(kernel)
  await look()
  await sync(service('a', '172.30.0.1'))
  await remove('a')
  await mode.cleanup()
  expect(await serversOf(kernel)).toEqual(theirs)
})

test('where another process has a virtual server, a Service is not served and takes no packet', async () => {
  const kernel = fakeKernel()
  await kernel.ipvs.run(foreignAt(VIP))
  const { look, sync, retry, tracker } = fakeIpvsNode(kernel)
  await look()
  const { failed } = await sync(service('a', '172.30.0.1'), service('b', '172.30.0.2'))
  expect(codesOf(failed)).toEqual({
    [SERVER_KEY]: 'NP_IPVS_FOREIGN',
    'member/NPVS-4-SERVICES/172.30.0.1,tcp:80': 'NP_IPVS_FOREIGN',
  })
  expect(failed.get(SERVER_KEY)?.message).toContain(
    'another process has a virtual server at 4/tcp/172.30',
  )
  expect((await serversOf(kernel))[SERVER]).toBe(FOREIGN_TEXT)
  expect((await serversOf(kernel))['4/tcp/172.30.0.2:80']).toContain('rr|10.180')
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual(['172.30.0.2,tcp:80'])
  await kernel.ipvs.run([{ do: 'deleteService', id: VIP }])
  expect((await retry()).failed).toEqual(new Map())
  expect((await serversOf(kernel))[SERVER]).toContain('rr|10.180')
  expect(tracker.isSettled).toBe(true)
})

test('one that another process made a moment ago is as it was, and stays foreign', async () => {
  const { look, sync, kernel } = fakeIpvsNode()
  await look()
  await kernel.ipvs.run(foreignAt(VIP))
  const { failed } = await sync(service('a', '172.30.0.1'))
  expect(new Set(Object.values(codesOf(failed)))).toEqual(new Set(['NP_IPVS_FOREIGN']))
  expect((await serversOf(kernel))[SERVER]).toBe(FOREIGN_TEXT)
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual([])
  const fresh = fakeIpvsNode(kernel)
  await fresh.look()
  await fresh.sync()
  expect((await serversOf(kernel))[SERVER]).toBe(FOREIGN_TEXT)
})

test('also where our point had no virtual server because there was no backend', async () => {
  const { look, sync, retry, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1', []))
  await kernel.ipvs.run(foreignAt(VIP))
  const { failed } = await sync(service('a', '172.30.0.1'))
  expect(codesOf(failed)).toMatchObject({ [SERVER_KEY]: 'NP_IPVS_FOREIGN' })
  await look()
  await retry()
  expect((await serversOf(kernel))[SERVER]).toBe(FOREIGN_TEXT)
})

test('a foreign virtual server at the point of a Service without backends is taken for ours', async () => {
  const { look, sync, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1', []))
  await kernel.ipvs.run(foreignAt(VIP))
  expect(await look()).toMatchObject([{ key: SERVER_KEY, kind: 'stray' }])
  await sync()
  expect(await serversOf(kernel)).toEqual({})
})
