import { expect, it } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { measuredCertificate } from '../server.ts'
import { createProcessMetrics } from '../system/process-metrics.ts'
import { newFolder } from '../testing/new-folder.ts'
import { madeCertificate } from './serving-certificate.ts'

it('shows when the certificate ends', async () => {
  const clock = new FakeClock(Date.UTC(2030, 0, 1))
  const names = { dns: ['a'], ips: [] }
  const made = await madeCertificate({ folder: newFolder(), names, clock }).current()
  const metrics = createProcessMetrics()
  const source = measuredCertificate({ current: async () => made }, metrics)
  expect(await source.current()).toBe(made)
  expect(await metrics.text()).toContain(
    `orchserver_certificate_expiration_timestamp_seconds ${Date.UTC(2031, 0, 1) / 1000}\n`,
  )
})
