import { describe, expect, it } from 'vitest'
import { chooseModes } from './mode-choice.ts'

describe('chooseModes', () => {
  it('reads nothing as iptables, and auto as all there are', () => {
    expect(chooseModes('', ['iptables'])).toEqual(['iptables'])
    expect(chooseModes('iptables', ['ipvs', 'iptables'])).toEqual(['iptables'])
    expect(chooseModes('auto', ['ipvs', 'iptables'])).toEqual(['ipvs', 'iptables'])
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
