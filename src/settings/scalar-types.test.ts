import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  boolean,
  duration,
  integer,
  listOf,
  numberUpTo,
  oneOf,
  positiveNumber,
  text,
} from './scalar-types.ts'

const refused = (remedy: RegExp) => ({ ok: false, remedy: expect.stringMatching(remedy) })

describe('boolean', () => {
  it.each([true, false])('takes %j', (value) => {
    expect(boolean.decode(value)).toEqual({ ok: true, value })
  })
  it.each(['yes', 'true', 1, null, ''])('refuses %j in a file', (raw) => {
    expect(boolean.decode(raw)).toEqual(refused(/true or false/))
  })
  it.each([
    ['true', true],
    ['True', true],
    ['1', true],
    ['f', false],
    ['0', false],
  ])('takes %j as a flag', (flag, value) => {
    expect(boolean.fromFlag(flag)).toEqual({ ok: true, value })
  })
  it.each(['', 'yes', 'toString', '__proto__'])('refuses %j as a flag', (flag) => {
    expect(boolean.fromFlag(flag)).toEqual(refused(/true or false/))
  })
})

describe('integer', () => {
  const type = integer(-5, 31)
  it('takes exactly the whole numbers of its range, from files and flags alike', () => {
    fc.assert(
      fc.property(fc.integer({ min: -100, max: 100 }), (value) => {
        const inside = value >= -5 && value <= 31
        expect(type.decode(value).ok).toBe(inside)
        expect(type.fromFlag(String(value)).ok).toBe(inside)
      }),
    )
  })
  it.each(['', '1.5', '0x10', '1e1', ' 1', '007', '--1', 'ten'])('refuses the flag %j', (flag) => {
    expect(type.fromFlag(flag)).toEqual(refused(/whole number from -5 to 31/))
  })
  it.each([1.5, '5', true])('refuses %j in a file', (raw) => {
    expect(type.decode(raw).ok).toBe(false)
  })
})

describe('positiveNumber', () => {
  it.each([
    ['5', 5],
    ['0.5', 0.5],
  ])('takes %s', (flag, value) => {
    expect(positiveNumber(10).fromFlag(flag)).toEqual({ ok: true, value })
  })
  it.each(['0', '-1', '11', '', 'Infinity'])('refuses %s', (flag) => {
    expect(positiveNumber(10).fromFlag(flag)).toEqual(refused(/above 0, at most 10/))
  })
})

describe('numberUpTo', () => {
  const type = numberUpTo(1)
  it.each([0, 0.55, 1])('takes %d, from files and flags alike', (value) => {
    expect(type.decode(value)).toEqual({ ok: true, value })
    expect(type.fromFlag(String(value))).toEqual({ ok: true, value })
  })
  it.each(['-0.1', '1.1', '', '1e-1', 'NaN'])('refuses %j', (flag) => {
    expect(type.fromFlag(flag)).toEqual(refused(/^write a number from 0 to 1$/))
  })
  it.each([-0.1, 1.1, '0.5', Number.NaN])('refuses %j in a file', (raw) => {
    expect(type.decode(raw).ok).toBe(false)
  })
})

describe('duration', () => {
  it.each([
    ['1h2m', 3_720_000],
    ['0', 0],
  ])('takes %s', (flag, value) => {
    expect(duration().fromFlag(flag)).toEqual({ ok: true, value })
  })
  it('takes a bare 0 from a file and no other bare number', () => {
    expect(duration().decode(0)).toEqual({ ok: true, value: 0 })
    expect(duration().decode(30)).toEqual(refused(/with a unit/))
  })
  it('holds its minimum', () => {
    expect(duration(1).decode('0s')).toEqual(refused(/at least 1ms/))
  })
})

describe('oneOf', () => {
  const type = oneOf(['', 'iptables', 'ipvs'])
  it('takes what is listed and nothing else', () => {
    expect(type.decode('ipvs')).toEqual({ ok: true, value: 'ipvs' })
    expect(type.decode('')).toEqual({ ok: true, value: '' })
    expect(type.decode('IPVS')).toEqual(refused(/did you mean "ipvs"\?.*"", iptables, ipvs/))
    expect(type.decode(1)).toEqual(refused(/^write one of/))
  })
})

describe('text', () => {
  it('is text, and follows its own rule', () => {
    const type = text((value) => (value === 'bad' ? 'write good' : undefined))
    expect(type.decode('fine')).toEqual({ ok: true, value: 'fine' })
    expect(type.decode('bad')).toEqual(refused(/write good/))
    expect(type.decode(5)).toEqual(refused(/quotes/))
  })
})

describe('listOf', () => {
  const type = listOf('list of words', (item) => (/^\w+$/.test(item) ? undefined : 'write words'))
  it('reads the same from a file and a flag', () => {
    expect(type.decode(['a', 'b'])).toEqual({ ok: true, value: ['a', 'b'] })
    expect(type.fromFlag('a, b')).toEqual({ ok: true, value: ['a', 'b'] })
  })
  it('names the first wrong item by its index', () => {
    const wrong = { ok: false, part: '[1]' }
    expect(type.decode(['a', '-', '+'])).toEqual({ ...wrong, remedy: 'write words' })
    expect(type.decode(['a', 5])).toEqual({ ...wrong, ...refused(/quotes/) })
    expect(type.fromFlag('a,-')).toEqual({ ...wrong, remedy: 'write words' })
  })
  it('is refused as a whole where it is no list', () => {
    expect(type.decode('a')).toEqual({ ok: false, remedy: 'write a list' })
  })
})
