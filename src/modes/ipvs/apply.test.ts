import { expect, test } from 'vitest'
import {
  codesOf,
  fakeIpvsNode,
  fakeKernel,
  membersOf,
  SERVER,
  SERVER_KEY,
  serversOf,
  service,
  VIP,
} from '../../../test/support/modes/fake-ipvs-node.ts'

test('a Service whose scheduler is missing is served by the default one, and says so', async () => {
  const { look, sync, retry, tracker, kernel } = fakeIpvsNode(
    fakeKernel({ schedulers: ['rr', 'mh'] }),
    { scheduler: 'mh' },
  )
  const { failed } = await sync(
    service('a', '172.30.0.1', ['10.180.0.1'], { scheduler: 'wlc' }),
    service('b', '172.30.0.2', ['10.180.0.1'], { scheduler: 'rr' }),
  )
  expect(codesOf(failed)).toEqual({ [SERVER_KEY]: 'NP_IPVS_SCHEDULER' })
  expect(failed.get(SERVER_KEY)?.message).toContain('modprobe ip_vs_wlc')
  expect(await serversOf(kernel)).toEqual({
    [SERVER]: 'mh fallback sourcePort|10.180.0.1:8080*1',
    '4/tcp/172.30.0.2:80': 'rr|10.180.0.1:8080*1',
  })
  expect(await look()).toEqual([])
  expect(codesOf((await retry()).failed)).toEqual({ [SERVER_KEY]: 'NP_IPVS_SCHEDULER' })
  const next = service('a', '172.30.0.1', ['10.180.0.5'], { scheduler: 'wlc' })
  await sync(next)
  expect((await serversOf(kernel))[SERVER]).toContain('10.180.0.5:8080*1')
  await sync({ ...next, scheduler: 'rr' })
  expect((await serversOf(kernel))[SERVER]).toMatch(/^rr\|/)
  expect(tracker.isSettled).toBe(true)
})

test('a refused backend harms no other, and is tried again', async () => {
  const { look, sync, retry, tracker, kernel } = fakeIpvsNode()
  const allow = kernel.ipvs.refuse(
    'ENOMEM',
    (command) => command.do === 'addServer' && command.server.ip === '10.180.0.66',
  )
  const { failed } = await sync(
    service('a', '172.30.0.1', ['10.180.0.1', '10.180.0.66']),
    service('b', '172.30.0.2'),
  )
  expect(codesOf(failed)).toEqual({ [SERVER_KEY]: 'NP_IPVS_REFUSED' })
  expect(await serversOf(kernel)).toEqual({
    [SERVER]: 'rr|10.180.0.1:8080*1',
    '4/tcp/172.30.0.2:80': 'rr|10.180.0.1:8080*1 10.180.0.2:8080*1',
  })
  expect(await look()).toEqual([])
  allow()
  await retry()
  expect((await serversOf(kernel))[SERVER]).toContain('10.180.0.66')
  expect(tracker.isSettled).toBe(true)
})

test('a virtual server that cannot be removed stays ours until it is', async () => {
  const { sync, remove, retry, kernel, tracker } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'))
  const allow = kernel.ipvs.refuse('EPERM', (command) => command.do === 'deleteService')
  expect(codesOf((await remove('a')).failed)).toEqual({
    [SERVER_KEY]: 'NP_IPVS_REFUSED',
    'member/NPVS-4-SERVICES/172.30.0.1,tcp:80': 'NP_IPVS_REFUSED',
  })
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual(['172.30.0.1,tcp:80'])
  allow()
  expect((await retry()).failed).toEqual(new Map())
  expect(await serversOf(kernel)).toEqual({})
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual([])
  expect(tracker.isSettled).toBe(true)
})

test('it stays ours also when its Service goes before it is tried again', async () => {
  const { sync, remove, retry, kernel, tracker } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'))
  const allow = kernel.ipvs.refuse('EPERM', (command) => command.do === 'deleteService')
  await sync(service('a', '172.30.0.1', []))
  await remove('a')
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual(['172.30.0.1,tcp:80'])
  allow()
  expect((await retry()).failed).toEqual(new Map())
  expect(await serversOf(kernel)).toEqual({})
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual([])
  expect(tracker.isSettled).toBe(true)
})

test('a virtual server that the sets refuse is not made, because no set would record it as ours', async () => {
  const { sync, retry, kernel } = fakeIpvsNode()
  const allow = kernel.sets.refuse(
    (command) =>
      command.do === 'add' && command.name === 'NPVS-4-SERVICES' && command.member.ip === VIP.ip,
  )
  const { failed } = await sync(service('a', '172.30.0.1'), service('b', '172.30.0.2'))
  expect(codesOf(failed)).toEqual({
    [SERVER_KEY]: 'NP_IPVS_SET_REFUSED',
    'member/NPVS-4-SERVICES/172.30.0.1,tcp:80': 'NP_IPVS_SET_REFUSED',
  })
  expect(Object.keys(await serversOf(kernel))).toEqual(['4/tcp/172.30.0.2:80'])
  allow()
  expect((await retry()).failed).toEqual(new Map())
  expect(Object.keys(await serversOf(kernel))).toContain(SERVER)
})
