import { describe, expect, it } from 'vitest'
import { conntrackSettings } from './sysctls.ts'

const DEFAULTS = {
  maxPerCore: 32_768,
  min: 131_072,
  tcpEstablishedTimeout: 86_400_000,
  tcpCloseWaitTimeout: 3_600_000,
  tcpBeLiberal: false,
  udpTimeout: 0,
  udpStreamTimeout: 0,
}

function settings(change: Partial<typeof DEFAULTS>, cores = 2) {
  const list = conntrackSettings({ ...DEFAULTS, ...change }, cores)
  return list.map(
    ({ sysctl, value, rule }) =>
      `${sysctl.replace('net.netfilter.nf_conntrack_', '')} ${rule} ${value}`,
  )
}

describe('conntrackSettings', () => {
  it('has the documented defaults', () => {
    expect(settings({})).toEqual([
      'buckets atLeast 32768',
      'max atLeast 131072',
      'tcp_timeout_established exact 86400',
      'tcp_timeout_close_wait exact 3600',
    ])
  })

  it.each([
    [1, 131_072],
    [4, 131_072],
    [8, 262_144],
    [32, 1_048_576],
    [256, 1_048_576],
  ])('%d cores: %d entries', (cores, max) => {
    expect(settings({}, cores)).toContain(`max atLeast ${max}`)
  })

  it('touches nothing that is 0', () => {
    expect(settings({ maxPerCore: 0, tcpEstablishedTimeout: 0, tcpCloseWaitTimeout: 0 })).toEqual(
      [],
    )
  })

  it('sets what is configured, in whole seconds', () => {
    expect(settings({ tcpBeLiberal: true, udpTimeout: 1_500, udpStreamTimeout: 120_000 })).toEqual(
      expect.arrayContaining([
        'tcp_be_liberal exact 1',
        'udp_timeout exact 2',
        'udp_timeout_stream exact 120',
      ]),
    )
  })
})
