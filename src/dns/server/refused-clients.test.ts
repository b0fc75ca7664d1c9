import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { RefusedClients } from '../cluster-dns.ts'

test('refused clients are reported at most once a minute, with their number', async () => {
  const clock = new FakeClock()
  const warnings: string[] = []
  const refused = new RefusedClients({ clock, onWarning: (warning) => warnings.push(warning) })
  refused.add('203.0.113.1')
  refused.add('203.0.113.2')
  await clock.advance(59_999)
  refused.add('203.0.113.3')
  expect(warnings).toEqual([expect.stringMatching(/^203\.0\.113\.1 .*dns\.clientNetworks.*: 1\)/)])
  await clock.advance(1)
  refused.add('203.0.113.4')
  expect(warnings.slice(1)).toEqual([expect.stringMatching(/^203\.0\.113\.4 .*: 3\)/)])
})
