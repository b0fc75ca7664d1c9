import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type DoctorCluster,
  deadUpstream,
  startDoctorCluster,
} from '../../support/doctor/doctor-cluster.ts'
import { openShop } from '../../support/doctor/shop.ts'
import { SPOILT_CLUSTERS } from '../../support/doctor/spoilt-clusters.ts'

let cluster: DoctorCluster

beforeAll(async () => {
  cluster = await startDoctorCluster([await deadUpstream()])
})

afterAll(() => cluster?.[Symbol.asyncDispose]())

test.each(SPOILT_CLUSTERS.map((one, index) => ({ ...one, index })))(
  '$what is the first finding',
  async ({ spoil, check, object, cause, index }) => {
    const namespace = `spoilt-${index}`
    const shop = await openShop(cluster, namespace, index)
    const args = (await spoil(shop)) ?? []
    const [first] = await cluster.doctor(namespace, args)
    const found = first?.object.replace(`/${namespace}/`, '/').replace(/^dns\/.*/, 'dns/')
    expect([first?.check, found]).toEqual([check, object])
    expect(first?.cause).toMatch(cause)
    expect(JSON.stringify(first)).not.toMatch(/eyJ[\w-]+\./)
  },
)
