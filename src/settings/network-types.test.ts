import { describe, expect, it } from 'vitest'
import { cidrList, cidrPair, ipAddress, portRange, socketAddress } from './network-types.ts'

describe('ipAddress', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['FD00::0001', 'fd00::1'],
  ])('reads %s as %s', (text, value) => {
    expect(ipAddress.decode(text)).toEqual({ ok: true, value })
  })
  it.each(['', '010.0.0.1', '10.0.0', 'localhost', 1])('refuses %j', (raw) => {
    expect(ipAddress.decode(raw).ok).toBe(false)
  })
})

describe('socketAddress', () => {
  const type = socketAddress(10_256)
  it.each([
    ['0.0.0.0:80', { ip: '0.0.0.0', port: 80 }],
    ['[::]:80', { ip: '::', port: 80 }],
    ['127.0.0.1', { ip: '127.0.0.1', port: 10_256 }],
    ['::1', { ip: '::1', port: 10_256 }],
    ['', undefined],
  ])('reads %j', (text, value) => {
    const read = type.decode(text)
    expect(read).toEqual({ ok: true, value })
    expect(type.decode(type.encode(value as Parameters<typeof type.encode>[0]))).toEqual(read)
  })
  it.each(['0.0.0.0:0', '0.0.0.0:65536', ':80', '[::]', '[10.0.0.1]:80', 'host:80', '1.2.3.4:08'])(
    'refuses %j',
    (text) => {
      expect(type.decode(text)).toEqual({ ok: false, remedy: expect.stringMatching(/IP:port/) })
    },
  )
})

describe('cidrList', () => {
  it('reads, canonicalises and drops repetitions', () => {
    const read = cidrList.decode(['10.0.0.0/8', 'FD00::/64', '10.0.0.0/8'])
    expect(read).toEqual({ ok: true, value: ['10.0.0.0/8', 'fd00::/64'] })
  })
  it('warns of an address inside of a network', () => {
    expect(cidrList.decode(['10.1.2.3/8', 'fd00::1/64', '10.9.9.9/32'])).toEqual({
      ok: true,
      value: ['10.0.0.0/8', 'fd00::/64', '10.9.9.9/32'],
      warning:
        '10.1.2.3/8 is an address inside of the network 10.0.0.0/8, which is used; fd00::1/64 is an address inside of the network fd00::/64, which is used; write that',
    })
  })
  it('reads the same from a flag with commas', () => {
    expect(cidrList.fromFlag('10.0.0.0/8, fd00::/64')).toEqual({
      ok: true,
      value: ['10.0.0.0/8', 'fd00::/64'],
    })
    expect(cidrList.fromFlag('')).toEqual({ ok: true, value: [] })
  })
  it.each(['10.0.0.1', '10.0.0.0/33', 8])('refuses the item %j by its index', (item) => {
    expect(cidrList.decode(['fd00::/64', item])).toEqual({
      ok: false,
      part: '[1]',
      remedy: expect.stringMatching(/^write networks/),
    })
  })
  it('refuses one text', () => {
    expect(cidrList.decode('10.0.0.0/8').ok).toBe(false)
  })
})

describe('cidrPair', () => {
  it.each([
    ['', []],
    ['10.0.0.0/8', ['10.0.0.0/8']],
    ['10.0.0.0/8,fd00::/48', ['10.0.0.0/8', 'fd00::/48']],
  ])('reads %j', (text, value) => {
    expect(cidrPair.decode(text)).toEqual({ ok: true, value })
    expect(cidrPair.encode(value as never)).toBe(text)
  })
  it.each(['10.0.0.0/8,11.0.0.0/8', '10.0.0.0/8,fd00::/48,fd01::/48', '10.0.0.0'])(
    'refuses %j',
    (text) => {
      expect(cidrPair.decode(text).ok).toBe(false)
    },
  )
  it('names the wrong one of two networks, which are one text', () => {
    expect(cidrPair.decode('10.0.0.0/8, fd00::')).toEqual({
      ok: false,
      remedy: expect.stringMatching(/^"fd00::" is none: write networks/),
    })
  })
})

describe('portRange', () => {
  it.each([
    ['', undefined],
    ['0-0', undefined],
    ['30000-32767', { first: 30_000, last: 32_767 }],
  ])('reads %j', (text, value) => {
    expect(portRange.decode(text)).toEqual({ ok: true, value })
  })
  it.each(['5-4', 80])('refuses %j', (raw) => {
    expect(portRange.decode(raw).ok).toBe(false)
  })
})
