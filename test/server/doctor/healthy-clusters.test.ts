import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DoctorCluster, startDoctorCluster } from '../../support/doctor/doctor-cluster.ts'
import { HEALTHY_SHAPES } from '../../support/doctor/healthy-shapes.ts'
import { openShop } from '../../support/doctor/shop.ts'

let cluster: DoctorCluster

beforeAll(async () => {
  cluster = await startDoctorCluster()
})

afterAll(() => cluster?.[Symbol.asyncDispose]())

test('in twenty clusters in which everything works, nothing is found', async () => {
  expect(HEALTHY_SHAPES).toHaveLength(20)
  for (const [index, { what, build }] of HEALTHY_SHAPES.entries()) {
    const shop = await openShop(cluster, `healthy-${index}`, index)
    await build(shop).catch((error: unknown) => {
      throw new Error(what, { cause: error })
    })
  }
  const findings = await cluster.doctor('default', ['-A'])
  // The API server of the test is on the loopback, where no Pod reaches it.
  const expected = ['service/default/kubernetes', 'service/default/orch']
  expect(findings.filter(({ object }) => !expected.includes(object))).toEqual([])
  const args = [`--dns-server=${cluster.dns}`]
  expect(await cluster.doctor('healthy-0', args)).toEqual([])
  expect(await cluster.doctor('healthy-0', ['pod/web-1', '--can', 'list', 'pods'])).toEqual([])
})

test('a token that the server accepts has no finding, and is not shown', async () => {
  const token = await cluster.shell.ok(['create', 'token', 'robot', '-n', 'healthy-0'])
  const options = { input: token }
  const ran = await cluster.shell.run(['doctor', '--token-file', '-'], options)
  expect([ran.code, ran.stdout]).toEqual([0, 'nothing was found\n'])
  expect(ran.stderr).not.toContain(token.trim())
  const garbage = await cluster.shell.run(['doctor', '--token-file', '-'], { input: 'hunter2' })
  expect([garbage.code, garbage.stderr]).toEqual([2, expect.stringContaining('holds no token')])
  expect(garbage.stderr).not.toContain('hunter2')
})
