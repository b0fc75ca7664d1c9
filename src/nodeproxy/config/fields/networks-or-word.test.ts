import { describe, expect, it } from 'vitest'
import { nodePortAddresses, serviceCIDRs } from './traffic.ts'

describe('nodePortAddresses', () => {
  it('accepts networks, or primary alone', () => {
    expect(nodePortAddresses.decode(['primary'])).toEqual({ ok: true, value: 'primary' })
    expect(nodePortAddresses.fromFlag('primary')).toEqual({ ok: true, value: 'primary' })
    expect(nodePortAddresses.decode(['10.0.0.0/8'])).toEqual({ ok: true, value: ['10.0.0.0/8'] })
    expect(nodePortAddresses.encode('primary')).toEqual(['primary'])
  })
  it('refuses primary beside a network', () => {
    expect(nodePortAddresses.decode(['primary', '10.0.0.0/8'])).toEqual({
      ok: false,
      remedy: expect.stringMatching(/stands alone/),
    })
  })
})

describe('serviceCIDRs', () => {
  it('accepts networks, or none alone', () => {
    expect(serviceCIDRs.fromFlag('10.96.0.0/12,fd00::/108')).toEqual({
      ok: true,
      value: ['10.96.0.0/12', 'fd00::/108'],
    })
    expect(serviceCIDRs.decode([])).toEqual({ ok: true, value: [] })
    expect(serviceCIDRs.decode(['none'])).toEqual({ ok: true, value: 'none' })
    expect(serviceCIDRs.encode('none')).toEqual(['none'])
    expect(serviceCIDRs.decode(['none', '10.96.0.0/12'])).toMatchObject({ ok: false })
  })
})
