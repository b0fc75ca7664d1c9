import { describe, expect, test } from 'vitest'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { jsonReply } from '../request/api-request.ts'
import { badRequest } from '../status/status.ts'
import {
  ANN,
  audited,
  finish,
  newResponse,
  type RequestParts,
  requestFor,
} from './testing/audited.ts'

/** Whatever some reader takes for the end of a line, and what rewrites a terminal's screen. */
const HOSTILE = [
  '\n',
  '\r\n',
  '\u0000',
  '\u001b[2J',
  '\u0085',
  '\u2028',
  '\u2029',
  '\u009b2J',
  '\u007f',
  '\u202e',
  '\u2066',
  '\ufeff',
  '\u200f',
  '\ud800',
  '\udfff',
  '"}',
  '\\',
  '\n{"kind":"Event"}',
]

const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u

/** The one event of a request, read from its one line. */
function eventOf(text: string, parts: RequestParts, body?: Buffer, message = 'x'): JsonObject {
  const on = audited('[{level: Request, omitStages: [RequestReceived]}]')
  const record = on.log.begin(requestFor(text, parts))
  record.authorized('forbid', message)
  if (body !== undefined) record.received(body, '')
  const response = newResponse()
  record.respond(badRequest(message), response)
  finish(response, 400)
  expect(on.lines).toHaveLength(1)
  expect(on.lines[0]).not.toMatch(UNSAFE)
  return JSON.parse(on.lines[0]!) as JsonObject
}

describe('one line of plain characters, whatever a client sends', () => {
  test.each(HOSTILE.map((text) => [JSON.stringify(text), text]))('%s', (_shown, text) => {
    const user = { name: text, uid: text, groups: [text], extra: new Map([[text, [text]]]) }
    const headers = { 'user-agent': text, 'x-forwarded-for': text }
    const body = Buffer.from(JSON.stringify({ [text]: [text] }))
    const parts = { url: `/x${text}?a=${text}`, headers, user }
    const event = eventOf(`get pods shop${text}/web${text}`, parts, body, text)
    expect(event['userAgent']).toBe(text)
    expect(event['requestObject']).toEqual({ [text]: [text] })
    expect(event['user']).toEqual({
      username: text,
      uid: text,
      groups: [text],
      extra: { [text]: [text] },
    })
    expect(event['sourceIPs']).toEqual(['192.0.2.7'])
  })

  test('names of Object.prototype are names', () => {
    const extra = new Map([
      ['__proto__', ['a']],
      ['constructor', ['b']],
    ])
    const body = Buffer.from('{"__proto__":{"polluted":1},"constructor":2}')
    const event = eventOf('update pods shop/web', { user: { ...ANN, extra } }, body)
    expect(JSON.stringify(event)).toContain('"__proto__":["a"],"constructor":["b"]')
    expect(JSON.stringify(event)).toContain('{"__proto__":{"polluted":1},"constructor":2}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

describe('sizes are bounded', () => {
  test('of every text', () => {
    const long = 'x'.repeat(100_000)
    const many = Array<string>(5000).fill(long)
    const user = { name: long, groups: many, extra: new Map([[long, many]]) }
    const headers = { 'user-agent': long, 'x-forwarded-for': `1.2.3.4,`.repeat(10_000) }
    const event = eventOf(
      `get pods ${long}/${long}`,
      { url: `/${long}`, headers, user },
      undefined,
      long,
    )
    expect(stringAt(event, 'requestURI')).toHaveLength(2048)
    expect(stringAt(event, 'requestURI')).toMatch(/…\[cut\]$/)
    expect(stringAt(event, 'userAgent')).toHaveLength(1024)
    expect(event['sourceIPs']).toHaveLength(11)
    expect(JSON.stringify(event).length).toBeLessThan(200_000)
  })

  test.each([
    ['too large to be stored', Buffer.from(`{"a":"${'x'.repeat(1_600_000)}"}`)],
    ['large once it is escaped', Buffer.from(`{"a":"${'\u0085'.repeat(780_000)}"}`)],
  ])('of a body that is %s', (_name, body) => {
    const event = eventOf('update pods shop/web', {}, body)
    expect(event).not.toHaveProperty('requestObject')
    expect(event).toMatchObject({ annotations: { 'audit.k8s.io/truncated': 'true' } })
  })

  test.each([
    '{"a":'.repeat(100_000),
    '['.repeat(1_000_000),
    '[1'.repeat(100),
    '{"a":1e999}',
    '\xff',
  ])('of work for a body that no server reads', (text) => {
    expect(eventOf('update pods shop/web', {}, Buffer.from(text, 'latin1'))).not.toHaveProperty(
      'requestObject',
    )
  })

  test.each([
    '-eyJ'.repeat(20_000),
    `Bearer${' '.repeat(50_000)}`,
    '?'.repeat(50_000),
    '&a='.repeat(9_999),
  ])('of work for texts in which tokens are looked for', (text) => {
    const event = eventOf('get pods shop/web', { url: `/${text}`, headers: { 'user-agent': text } })
    expect(stringAt(event, 'requestURI').length).toBeLessThanOrEqual(2048)
  })
})

const JWT = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl'

describe('no token is shown', () => {
  test.each([
    ['/x?access_token=s3cret', '/x?access_token=[redacted]'],
    ['/x?a=1&Token=s3cret&b=2', '/x?a=1&Token=[redacted]&b=2'],
    ['/x?acc%65ss_tok%65n=s3cret', '/x?acc%65ss_tok%65n=[redacted]'],
    ['/x?client+secret=s3cret', '/x?client+secret=[redacted]'],
    ['/x?a=1;password=s3cret', '/x?a=[redacted]'],
    ['/x?token=s3cret;s3cret?s3cret=s3cret', '/x?token=[redacted]'],
    ['/x?a;password=s3cret', '/x?a;password=[redacted]'],
    ['/x;token=s3cret', '/x;token=[redacted]'],
    ['/x??token=s3cret', '/x??token=[redacted]'],
    ['/x?token=', '/x?token=[redacted]'],
    ['/x#id_token=s3cret', '/x#id_token=[redacted]'],
    ['/x?authorization=Bearer%20s3cret', '/x?authorization=[redacted]'],
    ['/x?apikey=s3cret&api-key=s3cret', '/x?apikey=[redacted]&api-key=[redacted]'],
    ['/x?%zztoken=s3cret', '/x?%zztoken=[redacted]'],
    ['http://ann:s3cret@host/x', 'http://[redacted]@host/x'],
    [`/x?labelSelector=${JWT}`, '/x?labelSelector=[redacted]'],
    [`/x/${JWT}/y`, '/x/[redacted]/y'],
    [`/x?labelSelector=a%3D${JWT}`, '/x?labelSelector=a%3D[redacted]'],
    [`/${'x'.repeat(2000)}${JWT}`, `/${'x'.repeat(2000)}[redacted]`],
    [`/x?a=b.${JWT}.${JWT}`, '/x?a=b.[redacted].[redacted]'],
    ['/x?a=Bearer%20s3cret-s3cret', '/x?a=Bearer [redacted]'],
    [`/${'x'.repeat(20)}eyJab.c.d`, `/${'x'.repeat(20)}eyJab.c.d`],
    ['/x?continue=abc&limit=5&fieldManager=author', '/x?continue=abc&limit=5&fieldManager=author'],
  ])('%.60s', (url, shown) => {
    expect(eventOf('get pods shop/web', { url })['requestURI']).toBe(shown)
  })

  test('in the User-Agent, in what the server answers, and in reasons', () => {
    const headers = { 'user-agent': `curl ${JWT}` }
    const event = eventOf(
      'get pods shop/web',
      { headers },
      undefined,
      `no such user: Bearer ${JWT}`,
    )
    expect(JSON.stringify(event)).not.toContain('eyJ')
    expect(event).toMatchObject({ userAgent: 'curl [redacted]' })
  })
})

test.each([
  [undefined, '10.0.0.1', ['10.0.0.1']],
  [undefined, '::ffff:10.0.0.1', ['10.0.0.1']],
  [undefined, undefined, []],
  ['203.0.113.1, 10.0.0.1', '10.0.0.1', ['203.0.113.1', '10.0.0.1']],
  ['nonsense, <script>, 010.0.0.1, 2001:DB8::1', '::1', ['2001:db8::1', '::1']],
])(
  'the addresses of X-Forwarded-For %j and the connection %s are %j',
  (forwarded, remote, expected) => {
    const on = audited('[{level: Metadata}]')
    const { request, ...rest } = requestFor('get pods shop/web')
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    on.log.begin({ ...rest, request: { ...request, headers, socket: { remoteAddress: remote } } })
    expect(on.events()[0]?.['sourceIPs']).toEqual(expected)
  },
)

test('an answer of any bytes is no line of its own', () => {
  const on = audited('[{level: RequestResponse}]')
  const record = on.log.begin(requestFor('get pods shop/web'))
  const response = newResponse()
  record.respond(jsonReply(200, Buffer.from('\n{"kind":"Event"}\n{')), response)
  finish(response, 200)
  expect(on.lines).toHaveLength(2)
  for (const line of on.lines) expect(line).not.toMatch(UNSAFE)
})
