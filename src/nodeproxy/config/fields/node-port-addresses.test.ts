import { describe, expect, it } from 'vitest'
import { nodePortAddresses } from './node-port-addresses.ts'

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
