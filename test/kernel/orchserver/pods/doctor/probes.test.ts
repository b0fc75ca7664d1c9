import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PodCluster, startPodCluster } from '../pod-cluster.ts'
import { openPodShop, type PodShop } from './pod-shop.ts'
import { PROBE_CAUSES } from './probe-causes.ts'

const CAUSES = PROBE_CAUSES.map((one, index) => ({ ...one, index }))

let cluster: PodCluster
let shops: readonly PodShop[]

/** All Pods run at the same time. */
beforeAll(async () => {
  cluster = await startPodCluster()
  shops = await Promise.all(
    CAUSES.map(async ({ container, index }) => {
      const shop = await openPodShop(cluster, `shop-${index}`)
      await shop.pod('web', container)
      await shop.service('web')
      return shop
    }),
  )
})

afterAll(() => cluster.close())

test.each(CAUSES)('$what is the first finding', async ({ seen, cause, evidence, index }) => {
  const shop = shops[index]!
  await seen(shop)
  const [first] = await shop.doctor(['service/web'])
  const object = `pod/shop-${index}/web`
  expect(first).toMatchObject({ check: 'pods-not-ready', object })
  expect(first!.cause).toBe(`none of the 1 Pods of service/web is ready${cause}`)
  expect(first!.evidence.join('\n')).toMatch(evidence)
})
