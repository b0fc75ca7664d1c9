import { afterEach, describe, expect, test, vi } from 'vitest'
import { startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../../test/support/etcd/has-etcd.ts'
import { put, write } from '../testing/conformance-steps.ts'
import { createEtcdStore } from './etcd-store.ts'

const HOUR = 3_600_000
/** No process listens on the port for discarded data. */
const UNREACHABLE = 'http://127.0.0.1:9'

function jump(ms: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })
}

describe.runIf(hasEtcd())('a clock that jumps', () => {
  afterEach(() => void vi.useRealTimers())

  test('ahead does not end the wait for an etcd that is away', async () => {
    await using etcd = await startEtcd()
    const store = createEtcdStore({ endpoints: [etcd.endpoint], timeoutMs: 10_000 })
    await write(store, put('/a', '1'))
    await etcd.kill()
    const reading = store.get('/a')
    jump(HOUR)
    await etcd.start()
    expect(String((await reading)?.value)).toBe('1')
    await store.close()
  })

  test('back does not prolong it', async () => {
    const store = createEtcdStore({ endpoints: [UNREACHABLE], timeoutMs: 200 })
    const reading = store.get('/a')
    jump(-HOUR)
    await expect(reading).rejects.toMatchObject({ code: 'NP_STORAGE_ETCD_UNREACHABLE' })
    await store.close()
  })
})
