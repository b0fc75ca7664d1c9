import { describe, expect, it } from 'vitest'
import { chooseModes } from './mode-choice.ts'

describe('chooseModes', () => {
  it('returns iptables for an empty mode, and all modes for auto', () => {
    expect(chooseModes('', ['iptables'])).toEqual(['iptables'])
    expect(chooseModes('iptables', ['ipvs', 'iptables'])).toEqual(['iptables'])
    expect(chooseModes('auto', ['ipvs', 'iptables'])).toEqual(['ipvs', 'iptables'])
  })

  it('throws an error with the available modes for one that is not available', () => {
    expect(() => chooseModes('ipvs', ['iptables'])).toThrow(
      expect.objectContaining({
        code: 'NP_NODEPROXY_MODE_UNAVAILABLE',
        hint: 'set mode (--proxy-mode) to one of: iptables, auto',
      }),
    )
  })
})
