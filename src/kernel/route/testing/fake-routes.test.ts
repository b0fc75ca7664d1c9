import { expect, test } from 'vitest'
import { WALKED, walk } from '../../../../test/kernel/interfaces/route-steps.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { FakeRoutes } from './fake-routes.ts'

const route = { family: 4, mark: 1, mask: 1, table: 100, priority: 7 } as const

test('the fake adds, refuses and removes as the kernel does', async () => {
  const routes = new FakeRoutes()
  const walked = await walk(routes, {
    add: (foreign) => routes.foreignAdd(foreign),
    flushRules: (family) => routes.foreignRuleFlush(family),
    flushTable: (family, table) => routes.foreignRouteFlush(family, table),
  })
  expect(walked).toEqual(WALKED)
})

test('changes may be refused for a while', async () => {
  const routes = new FakeRoutes()
  routes.refusal = new NodeProxyError('NP_KERNEL_ROUTE', 'EPERM')
  await expect(routes.ensure(route)).rejects.toBe(routes.refusal)
  await expect(routes.remove(route)).rejects.toBe(routes.refusal)
  routes.refusal = undefined
  expect(await routes.ensure(route)).toHaveLength(2)
  routes.close()
})

test('a watcher that was stopped is not called', () => {
  const routes = new FakeRoutes()
  let calls = 0
  const stop = routes.watch(() => calls++)
  routes.foreignAdd(route)
  routes.foreignRuleFlush(4)
  expect(calls).toBe(0)
  routes.foreignRouteFlush(4, 100)
  stop()
  routes.foreignAdd(route)
  routes.foreignRouteFlush(4, 100)
  expect(calls).toBe(1)
})
