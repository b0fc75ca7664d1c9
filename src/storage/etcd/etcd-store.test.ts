import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { type EtcdProcess, startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../../test/support/etcd/has-etcd.ts'
import { describeStore } from '../conformance.ts'
import { createEtcdStore } from './etcd-store.ts'

describe.runIf(hasEtcd())('on a real etcd', () => {
  let etcd: EtcdProcess
  beforeAll(async () => {
    etcd = await startEtcd()
  })
  afterAll(() => etcd[Symbol.asyncDispose]())

  describeStore('etcd', async () =>
    createEtcdStore({ endpoints: [etcd.endpoint], prefix: `/${randomUUID()}` }),
  )
})
