import { describe, expect, it } from 'vitest'
import { redactFields, scrubText } from './redact.ts'

describe('redactFields', () => {
  it.each([
    'token',
    'bearerToken',
    'password',
    'client-key-data',
    'clientKeyData',
    'Authorization',
    'privateKey',
    'set-cookie',
  ])('hides %s at any depth', (key) => {
    const hidden = { [key]: '[redacted]' }
    expect(redactFields({ [key]: 's3cret' })).toEqual(hidden)
    expect(redactFields({ a: [{ b: { [key]: { x: 's3cret' } } }] })).toEqual({ a: [{ b: hidden }] })
  })

  it('keeps what is no secret', () => {
    const error = new Error('x')
    const fields = { key: 'shop/cart', tokens: 3, hasToken: true, tokenFile: '/run/t', err: error }
    expect(redactFields(fields)).toEqual(fields)
    expect(redactFields({ err: error }).err).toBe(error)
  })

  it('ends on cycles', () => {
    const loop: Record<string, unknown> = {}
    loop['self'] = loop
    expect(JSON.stringify(redactFields(loop))).toContain('[deeper]')
  })
})

describe('scrubText', () => {
  it.each([
    ['Authorization: Bearer abcdefghij.klm=', 'Authorization: Bearer [redacted]'],
    ['got eyJhbGciOiJI.eyJpc3MiOiJr.c2ln back', 'got [redacted] back'],
    ['at https://user:pa55@api:6443/x', 'at https://[redacted]@api:6443/x'],
    ['{"clientKey":"a\\"b","msg":"c"}', '{"clientKey":"[redacted]","msg":"c"}'],
    ['nothing to hide', 'nothing to hide'],
  ])('%j', (text, clean) => {
    expect(scrubText(text)).toBe(clean)
  })
})
