import { describe, expect, it } from 'vitest'
import { chooseModes, isSubstituted } from './mode-choice.ts'

describe('chooseModes', () => {
  it('reads nothing as iptables, and auto as all there are', () => {
    expect(chooseModes('', ['iptables'])).toEqual(['iptables'])
    expect(chooseModes('iptables', ['ipvs', 'iptables'])).toEqual(['iptables'])
    expect(chooseModes('auto', ['ipvs', 'iptables'])).toEqual(['ipvs', 'iptables'])
  })

  it('takes the best that there is for nftables, while there is no such mode', () => {
    expect(chooseModes('nftables', ['ipvs', 'iptables'])).toEqual(['ipvs', 'iptables'])
    expect(isSubstituted('nftables', ['ipvs', 'iptables'])).toBe(true)
    expect(chooseModes('nftables', ['nftables', 'iptables'])).toEqual(['nftables'])
    expect(isSubstituted('nftables', ['nftables', 'iptables'])).toBe(false)
  })

  it('names the modes that exist when the wanted one does not', () => {
    expect(() => chooseModes('ipvs', ['iptables'])).toThrow(
      expect.objectContaining({
        code: 'NP_NODEPROXY_MODE_UNAVAILABLE',
        hint: 'set mode (--proxy-mode) to one of: iptables, auto',
      }),
    )
  })
})
